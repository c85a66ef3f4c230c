import { readFileSync } from "node:fs";
import { join } from "node:path";

const repo = join(import.meta.dirname, "..", "..");
/** Returns the text of a file of the repository. */
export const source = (path: string): string => readFileSync(join(repo, path), "utf8");

/** Returns the names that a file re-exports. `type` marks names that exist for the type checker only. */
export function exportsOf(path: string): string[] {
  const names: string[] = [];
  for (const [, from = "", file = ""] of source(path).matchAll(/^export (type \*|\{[^}]*\}) from "\.\/([^"]+)";$/gm)) {
    if (from === "type *") names.push(...typesOf(join(path, "..", file)));
    else
      names.push(
        ...from
          .slice(1, -1)
          .split(",")
          .map((name) => name.trim())
          .filter((name) => name !== ""),
      );
  }
  return names.sort();
}

/** Returns the types that a file declares and exports. */
export function typesOf(path: string): string[] {
  return [...source(path).matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name]) => `type ${name}`);
}

/** Returns the members of an interface as they are written, without comments. */
export function membersOf(path: string, name: string): string[] {
  const body =
    new RegExp(`^export interface ${name} (?:extends [^{]*)?\\{\\n([^]*?)^\\}`, "m").exec(source(path))?.[1] ?? "";
  const withoutComments = body.replace(/\/\*\*[^]*?\*\//g, "");
  return withoutComments
    .split(/;$/m)
    .map((member) => member.trim().replaceAll(/\s+/g, " "))
    .filter((member) => member !== "");
}
