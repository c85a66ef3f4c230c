import type { ProtectedShape } from "../../api/shapes.ts";
import { counted } from "./counted.ts";

/** Which files are secrets by their names, and what that means, in one line; none where there are none. */
export function secretsLine({ files, first }: ProtectedShape, shown: (path: string) => string): string[] {
  if (files === 0) return [];
  const more = files > first.length ? " …" : "";
  const named = `${first.map(shown).join(", ")}${more}`;
  return [`${counted(files, "file")} by name (${named}): recorded, in no diff, and shown to no agent or reader`];
}
