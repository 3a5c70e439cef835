"""Names of the tasks that the studio adds to those of a run; they wait, switched off."""

# for drags: of a body part, of its orientation, of the centre of mass
DRAG, TURN, LEAN = "studio_drag", "studio_turn", "studio_lean"
WAITING = (DRAG, TURN, LEAN)
# for key poses
KEYS = "studio_keys"
# for pins
SLOTS = tuple(f"studio_pin_{k}" for k in range(12))
# all tasks of the studio
STUDIO = (*WAITING, KEYS, *SLOTS)
