"""Certificates: an audit of any kind as JSON that anybody can recompute, signed if wished."""

from privet.audit.certificate.certify import certify
from privet.audit.certificate.document import Certificate
from privet.audit.certificate.signature import new_key, public_key

__all__ = ["Certificate", "certify", "new_key", "public_key"]
