import type { ConfigShape } from "../../api/shapes.ts";
import { parseCount, parseSize } from "../table/parse-value.ts";
import { closestTo } from "../render/closest.ts";
import { usageError } from "../../process/usage-error.ts";

type Reader = (values: readonly string[]) => boolean | number | string[] | undefined;

function one<T>(read: (text: string) => T | undefined): (values: readonly string[]) => T | undefined {
  return ([value, ...more]) => (value === undefined || more.length > 0 ? undefined : read(value));
}

const readFlag = one((text) => ({ true: true, false: false })[text]);
const readList: Reader = (values) => [...values];

const KEYS: Readonly<Record<keyof ConfigShape, { readonly read: Reader; readonly wanted: string }>> = {
  useGitignore: { read: readFlag, wanted: "true or false" },
  excludePatterns: { read: readList, wanted: "patterns" },
  excludeGlobs: { read: readList, wanted: "globs" },
  forceInclude: { read: readList, wanted: "patterns" },
  maxEntries: { read: one(parseCount), wanted: "a whole number (0: no limit)" },
  maxBytes: { read: one(parseSize), wanted: "a size like 10GiB (0: no limit)" },
  maxFileSize: { read: one(parseSize), wanted: "a size like 500M (0: no limit)" },
  keepAside: { read: readFlag, wanted: "true or false" },
  recordPrompts: { read: readFlag, wanted: "true or false" },
  protectedNames: { read: readList, wanted: "names of files" },
};

export const CONFIG_KEYS: readonly string[] = Object.keys(KEYS);

function isKey(text: string): text is keyof ConfigShape {
  return CONFIG_KEYS.includes(text);
}

/** Returns the key for a typed name, such as `max-bytes` or `record_prompts`. Throws `USAGE` for an unknown name. */
export function configKey(typed: string): keyof ConfigShape {
  const camel = typed.replace(/[-_]([a-z])/g, (_, letter: string) => letter.toUpperCase());
  if (isKey(camel)) return camel;
  const [near] = closestTo(camel, CONFIG_KEYS, 1);
  const meant = near === undefined ? "" : `did you mean ${near}? `;
  throw usageError(`there is no key '${typed}'`, `${meant}keys: ${CONFIG_KEYS.join(", ")}`);
}

/** Returns the change that sets a key. Throws `USAGE` if the key does not take these values. */
export function configChange(key: keyof ConfigShape, values: readonly string[]): Partial<ConfigShape> {
  const { read, wanted } = KEYS[key];
  const value = read(values);
  if (value === undefined)
    throw usageError(`'${values.join(" ")}' is not a valid value for ${key}`, `it takes ${wanted}`);
  return { [key]: value };
}

export function isListKey(key: keyof ConfigShape): boolean {
  return KEYS[key].read === readList;
}
