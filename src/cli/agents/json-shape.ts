import type { Node } from "jsonc-parser";
import { lineAt, type Misfit } from "./json-dialect.ts";

/** The shape that a client requires of a value in its file. */
export type Shape =
  | { readonly is: "string" | "boolean" | "anything" }
  /**
   * `above`: the value must be greater than this number. `from`: the minimum. `whole`: true if only whole numbers are
   * accepted. Default: any number is accepted.
   */
  | { readonly is: "number"; readonly above?: number; readonly from?: number; readonly whole?: boolean }
  | {
      readonly is: "list";
      readonly of: Shape;
      /** Present if the client ignores a value that is no list. Absent if the client refuses such a value. */
      readonly orElse?: "passed over";
    }
  | ObjectShape
  /** An object that has one of several shapes. `by`: the name of the field whose string selects the shape. */
  | { readonly is: "variant"; readonly by: string; readonly cases: Readonly<Record<string, ObjectShape>> }
  | { readonly is: "or null"; readonly shape: Shape };

interface ObjectShape {
  readonly is: "object";
  readonly fields?: Readonly<Record<string, Shape>>;
  readonly needed?: readonly string[];
  /** The shape of each value whose name is not in `fields`. Default: any. */
  readonly others?: Shape;
  /** True if the client refuses names that are not in `fields`. Default: the client ignores such names. */
  readonly closed?: true;
  /** True if a name of `fields` must not occur twice. */
  readonly once?: true;
}

/**
 * Returns the first value in a text whose shape the client does not accept, as a `Misfit`. Returns `undefined` if the
 * client accepts all values. `root`: the syntax tree of the text.
 */
export function shapeMisfit(text: string, root: Node, shape: Shape): Misfit | undefined {
  const found = mismatch(root, shape, "");
  if (found === undefined) return undefined;
  return { what: found.what, line: lineAt(text, found.at.offset), hint: found.hint };
}

interface Found {
  readonly what: string;
  readonly hint: string;
  readonly at: Node;
}

function mismatch(node: Node, shape: Shape, name: string): Found | undefined {
  switch (shape.is) {
    case "anything":
      return undefined;
    case "or null":
      return node.type === "null" ? undefined : mismatch(node, shape.shape, name);
    case "list":
      return inList(node, shape, name);
    case "object":
      return inObject(node, shape, name);
    case "variant":
      return inVariant(node, shape, name);
    case "number":
      return inNumber(node, shape, name);
    default:
      return node.type === shape.is ? undefined : wrong(node, name, shape.is);
  }
}

/**
 * Returns the finding for a value of the wrong type. `name`: the path of the value, for people, such as
 * `hooks.PreToolUse[0].matcher`.
 */
function wrong(at: Node, name: string, wanted: string): Found {
  const article = /^[aeiou]/.test(wanted) ? "an" : "a";
  const what = `${name === "" ? "the file" : name} is not ${article} ${wanted}`;
  return { what, hint: `make it ${article} ${wanted}, or remove it`, at };
}

function inNumber(node: Node, shape: Shape & { readonly is: "number" }, name: string): Found | undefined {
  const value: unknown = node.value;
  if (typeof value !== "number") return wrong(node, name, "number");
  if (shape.whole === true && !Number.isInteger(value)) return wrong(node, name, "whole number");
  if (shape.above !== undefined && value <= shape.above) return wrong(node, name, `number above ${shape.above}`);
  return shape.from !== undefined && value < shape.from ? wrong(node, name, `number from ${shape.from} on`) : undefined;
}

function inList(node: Node, shape: Shape & { readonly is: "list" }, name: string): Found | undefined {
  if (node.type !== "array") return shape.orElse === undefined ? wrong(node, name, "list") : undefined;
  return first(node.children ?? [], (child, at) => mismatch(child, shape.of, `${name}[${at}]`));
}

function inObject(node: Node, shape: ObjectShape, name: string): Found | undefined {
  if (node.type !== "object") return wrong(node, name, "object");
  const { fields = {}, needed = [], others } = shape;
  const seen = new Set<string>();
  const found = first(node.children ?? [], (property) => {
    const [keyNode, value] = property.children ?? [];
    if (keyNode === undefined || value === undefined) return undefined;
    const key = String(keyNode.value);
    const full = name === "" ? key : `${name}.${key}`;
    const field = Object.hasOwn(fields, key) ? fields[key] : others;
    if (field === undefined) {
      const hint = "remove it";
      return shape.closed === true ? { what: `${full} is not a setting of this file`, hint, at: keyNode } : undefined;
    }
    if (shape.once === true && seen.has(key))
      return { what: `${full} occurs twice in one object`, hint: "keep only one of them", at: keyNode };
    seen.add(key);
    return mismatch(value, field, full);
  });
  if (found !== undefined) return found;
  const missing = needed.find((key) => !seen.has(key));
  if (missing === undefined) return undefined;
  const hint = `add "${missing}" to it, or remove ${name}`;
  return { what: `${name} has no "${missing}"`, hint, at: node };
}

function inVariant(node: Node, shape: Shape & { readonly is: "variant" }, name: string): Found | undefined {
  if (node.type !== "object") return wrong(node, name, "object");
  const tag = node.children?.find((property) => property.children?.[0]?.value === shape.by)?.children?.[1];
  const value: unknown = tag?.value;
  const known = Object.keys(shape.cases);
  const which = typeof value === "string" && known.includes(value) ? shape.cases[value] : undefined;
  if (which !== undefined) return mismatch(node, which, name);
  const what =
    tag === undefined ? `${name} has no "${shape.by}"` : `${name}.${shape.by} is not one of the known values`;
  return { what, hint: `"${shape.by}" is one of ${known.join(", ")}`, at: tag ?? node };
}

function first<T>(items: readonly T[], look: (item: T, index: number) => Found | undefined): Found | undefined {
  for (const [index, item] of items.entries()) {
    const found = look(item, index);
    if (found !== undefined) return found;
  }
  return undefined;
}
