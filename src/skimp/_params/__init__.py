"""What a parameter may be: rules, names that stand for objects, and fits that undo themselves."""
