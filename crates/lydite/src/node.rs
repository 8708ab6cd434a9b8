//! A suite as a tree of nodes that know where they stand in the file.
