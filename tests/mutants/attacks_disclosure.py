"""Bugs of exposure, extraction, inversion, reconstruction and of figures about tables: secrets that look safer, people who
look better hidden, and words of the data in an error."""

from tests.mutants.mutant import Table

EXPOSURE = "tests/audit/disclosure/test_exposure.py"
EXTRACTION = "tests/audit/disclosure/test_extraction.py"
INVERSION = "tests/audit/disclosure/test_inversion.py"
RECONSTRUCTION = "tests/audit/disclosure/test_reconstruction.py"
TABLES = "tests/audit/tables/test_reidentification.py"
SYNTHETIC = "tests/audit/test_synthetic.py"
WRONG = "tests/cli/test_audit_attacks_wrong.py"
DISCLOSURE = Table("tests/audit/disclosure", "tests/audit/tables")
plant = DISCLOSURE.plant

plant(
    "exposure: a candidate of the same score is no better",
    "audit:disclosure.exposure.exposure",
    "<= inside[:, None]",
    "< inside[:, None]",
    EXPOSURE,
)
plant(
    "exposure: secrets of one training are independent",
    "audit:Exposure.hits",
    "shared = self.one_run and len(secrets) > 1",
    "shared = False",
    EXPOSURE,
)
plant(
    "exposure: the luck of the sampled candidates is forgotten",
    "audit:Exposure.hits",
    "chance, estimated = float(rate_above(rank - 1, many, level / 2.0)), True",
    "chance, estimated = rank / (many + 1.0), True",
    EXPOSURE,
)
plant(
    "exposure: a secret put in several times is put in once",
    "audit:Exposure.allowed",
    "self.copies * at_least",
    "at_least",
    EXPOSURE,
)
plant(
    "exposure: a law that does not fit is taken",
    "audit:disclosure.exposure._fit",
    "return (shape, place, scale) if judged.pvalue >= _MISFIT else None",
    "return (shape, place, scale)",
    EXPOSURE,
)
plant(
    "exposure: extrapolated figures are held against a claim",
    "audit:Exposure.hits",
    'if self.method == "extrapolated":',
    "if False:",
    EXPOSURE,
)
plant(
    "known rate: a secret that is replaced counts once",
    "audit:known_rate_test",
    '(1.0 if claim.unit.relation == "replace" else 2.0)',
    "1.0",
    EXPOSURE,
)
plant(
    "extraction: the first whole text is the likeliest",
    "audit:extract",
    "if batch:",
    "if False:",
    EXTRACTION,
)
plant(
    "extraction: a search that was cut short is complete",
    "audit:extract",
    "len(found) == wanted or not waiting",
    "True",
    EXTRACTION,
)
plant(
    "inversion: the others' figure is that of members",
    "audit:invert",
    "exact_others=found[1]",
    "exact_others=found[0]",
    INVERSION,
)
plant(
    "inversion: the prior is left out",
    "audit:invert",
    "prior - 0.5 *",
    "-0.5 *",
    INVERSION,
)
plant(
    "inversion: each end has the whole level",
    "audit:Inversion.leak",
    "self.alpha / 2.0",
    "self.alpha",
    INVERSION,
)
plant(
    "an error quotes what is no number",
    "audit:answers.numbers",
    'raise InvalidData(f"{what} must be numbers") from None',
    "raise",
    INVERSION,
)
plant(
    "reconstruction: whatever is above 0 is a 1",
    "audit:reconstruct",
    "> 0.5",
    "> 0.0",
    RECONSTRUCTION,
)
plant(
    "reconstruction: the programme fits one side of the errors",
    "audit:LinearProgramme.solve",
    "[-matrix, slack]",
    "[matrix, slack]",
    RECONSTRUCTION,
)
plant(
    "reconstruction: counts of a table are cut, not rounded",
    "audit:reconstruct_table",
    "np.rint(solved)",
    "np.floor(solved - 1e-3)",
    RECONSTRUCTION,
)
plant(
    "tables: a cell of five is small",
    "audit:Reidentification.exact_small",
    "if size < SMALL",
    "if size <= SMALL",
    TABLES,
)
plant(
    "tables: cells are counted, not rows",
    "audit:Reidentification.exact_unique",
    "self.sizes.get(1, 0) / self.rows",
    "self.sizes.get(1, 0) / self.cells",
    TABLES,
)
plant(
    "tables: values that a cell lacks are at no distance",
    "audit:tables.reidentification._distances",
    "(differ + 1.0 - present) / 2.0",
    "differ / 2.0",
    TABLES,
)
plant(
    "tables: rows with a missing value are left out",
    "audit:tables.cells._every_row",
    "null=True",
    "null=column.null",
    TABLES,
)
plant(
    "tables: what is missing meets what is missing",
    "audit:tables.linkage._alone",
    "and None not in group",
    "",
    TABLES,
)
plant(
    "tables: sets that hold a smaller one are minimal",
    "audit:exact_identifying_sets",
    "if not any(set(known) <= set(each) for known, _ in found)",
    "if True",
    TABLES,
)
plant(
    "tables: pseudonyms are counted, not their rows",
    "audit:Pseudonyms.exact_share",
    "self.undone_rows / self.rows",
    "self.undone / self.pseudonyms",
    TABLES,
)
plant(
    "synthetic: the members are their own control group",
    "audit:synthetic_rates._shared",
    "if rows == two:",
    "if False:",
    SYNTHETIC,
)
plant(
    "synthetic: the excess has the whole level at each end",
    "audit:Beside.excess",
    "each.alpha / 2.0",
    "each.alpha",
    SYNTHETIC,
)
plant(
    "commands: secrets marked by another number are left out",
    "cli:audit.shared.scored",
    "_FLAGS[row[flag].strip().lower()]",
    "int(float(row[flag]))",
    WRONG,
)
plant(
    "commands: figures are shown before a mistake is found",
    "cli:audit.shared.check_written",
    "if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):",
    "if False:",
    WRONG,
)
