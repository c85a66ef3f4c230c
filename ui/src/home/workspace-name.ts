import type { WorkspaceShape } from "../../../src/api/shapes.ts";

/**
 * Returns the name by which people know a workspace: the path of its folder or, for a workspace without a folder, its
 * name.
 */
export function nameOf({ path, name, id }: Pick<WorkspaceShape, "path" | "name" | "id">): string {
  return path === "" ? (name ?? id) : path;
}
