"""The documents whose experiments can be repeated: `manikin reproduce DOCUMENT`."""

# name: the module that holds its claims, its scenes and the seed of its campaigns
DOCUMENTS = {"abe2006": "manikin.papers.abe2006", "kim2011": "manikin.papers.kim2011"}
