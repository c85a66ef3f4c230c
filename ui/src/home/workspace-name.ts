import type { WorkspaceShape } from "../../../src/api/shapes.ts";

/** Returns the name by which people know a workspace: its folder, or the name of one without a folder. */
export function nameOf({ path, name, id }: Pick<WorkspaceShape, "path" | "name" | "id">): string {
  return path === "" ? (name ?? id) : path;
}
