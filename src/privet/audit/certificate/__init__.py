"""Certificates: an audit of any kind as JSON that anybody can recompute, signed if wished."""

from privet.audit.certificate.certify import certify as certify
from privet.audit.certificate.document import Certificate as Certificate
from privet.audit.certificate.signature import new_key as new_key, public_key as public_key
