"""Controllers: control(world, tasks) -> Control."""
