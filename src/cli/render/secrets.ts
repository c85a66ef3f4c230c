import type { ProtectedShape } from "../../api/shapes.ts";
import { counted } from "./counted.ts";

/** Which files are secrets by their names, and what that means, in one line; none where there are none. */
export function secretsLine({ files, first }: ProtectedShape, shown: (path: string) => string): string[] {
  if (files === 0) return [];
  return [`${named({ files, first }, shown)}: recorded, in no diff, and shown to no agent or reader`];
}

/** That secrets of a folder stay behind where it follows an origin, and how they are sent, in one line; `undefined`: there are none. */
export function secretsStay(found: ProtectedShape | undefined, shown: (path: string) => string): string | undefined {
  if (found === undefined) return undefined;
  const stay = found.files === 1 ? "stays" : "stay";
  return `note: ${named(found, shown)} ${stay} here, and the origin's secrets there; --with-protected sends them both ways`;
}

function named({ files, first }: ProtectedShape, shown: (path: string) => string): string {
  const more = files > first.length ? " …" : "";
  return `${counted(files, "file")} by name (${first.map(shown).join(", ")}${more})`;
}
