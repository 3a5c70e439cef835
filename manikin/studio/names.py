"""Names of the tasks that a run in the studio has beside its own; they wait, switched off."""

# for a drag: of any body part, of its turn, of the centre of mass
DRAG, TURN, LEAN = "studio_drag", "studio_turn", "studio_lean"
WAITING = (DRAG, TURN, LEAN)
# for key poses
KEYS = "studio_keys"
# for pins
SLOTS = tuple(f"studio_pin_{k}" for k in range(12))
# all that belong to the studio
STUDIO = (*WAITING, KEYS, *SLOTS)
