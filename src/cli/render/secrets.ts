import type { ProtectedShape } from "../../api/shapes.ts";
import { counted } from "./words.ts";

export function secretsLine({ files, first }: ProtectedShape, shown: (path: string) => string): string[] {
  if (files === 0) return [];
  return [`${named({ files, first }, shown)}: recorded, but left out of diffs, and not shown to agents or readers`];
}

/**
 * Returns a note that the secrets of a folder are sent to the origin only if the user asks for that. Returns
 * `undefined` if there are no secrets.
 */
export function secretsStay(found: ProtectedShape | undefined, shown: (path: string) => string): string | undefined {
  if (found === undefined) return undefined;
  const stay = found.files === 1 ? "stays" : "stay";
  return `note: ${named(found, shown)} ${stay} here, and the origin's secrets stay there; --with-protected sends secrets both ways`;
}

function named({ files, first }: ProtectedShape, shown: (path: string) => string): string {
  const more = files > first.length ? " …" : "";
  return `${counted(files, "file")} by name (${first.map(shown).join(", ")}${more})`;
}
