import type { ChangeShape } from "../../api/shapes.ts";
import type { Format, Paint } from "../paint.ts";
import { columns } from "./columns.ts";
import { printable, printableText } from "./printable.ts";

const COLOURS: readonly (readonly [RegExp, Format])[] = [
  [/^(diff |--- |\+\+\+ )/, "bold"],
  [/^@@/, "cyan"],
  [/^\+/, "green"],
  [/^-/, "red"],
];

function coloured(line: string, paint: Paint): string {
  const found = COLOURS.find(([pattern]) => pattern.test(line));
  return found === undefined ? line : paint(found[1], line);
}

/** What stands in place of a patch where there is none. */
function withoutText(change: ChangeShape): string {
  const path = printable(change.path);
  if (change.binary === true) return `Binary file ${path} ${change.change_type}`;
  if (change.too_large === true) return `File ${path} ${change.change_type}, too large to compare`;
  return `${path}: ${change.change_type.replace("_", " ")}`;
}

/** Changes as unified text. On a terminal (`escape`), nothing in a file can move the cursor; else bytes stay as they are. */
export function patchLines(
  changes: readonly ChangeShape[],
  style: { readonly paint: Paint; readonly escape: boolean },
): string[] {
  return changes.flatMap((change) => {
    if (change.patch === undefined || change.patch === "") return [withoutText(change)];
    const text = style.escape ? printableText(change.patch) : change.patch;
    return text
      .replace(/\n$/, "")
      .split("\n")
      .map((line) => coloured(line, style.paint));
  });
}

function countLines(patch: string): { added: number; removed: number } {
  const body = patch.slice(Math.max(0, patch.indexOf("@@"))).split("\n");
  const added = body.filter((line) => line.startsWith("+")).length;
  return { added, removed: body.filter((line) => line.startsWith("-")).length };
}

/** One line a file: how many lines were added and removed. The changes must carry patches. */
export function statLines(
  changes: readonly ChangeShape[],
  style: { readonly paint: Paint; readonly shown: (path: string) => string },
): string[] {
  const rows = changes.map((change) => {
    const name = `  ${style.shown(change.path)}`;
    if (change.patch === undefined || change.patch === "") {
      const why = change.binary === true ? "binary" : change.change_type.replace("_", " ");
      return [name, "", "", style.paint("dim", why)];
    }
    const { added, removed } = countLines(change.patch);
    return [name, style.paint("green", `+${added}`), style.paint("red", `-${removed}`), ""];
  });
  return columns(rows, "<>><");
}
