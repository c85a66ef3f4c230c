import { canonicalJson, parseCanonical } from "../core/canonical-json.ts";
import type { Json, RecordBody } from "../core/event.ts";
import type { FilterSpec } from "../core/filter.ts";
import type { Hash } from "../core/hash.ts";
import { flag, list, object, text, texts } from "../core/record-fields.ts";
import type { Context } from "./context.ts";
import { keepBytes } from "./keep-bytes.ts";

/** The filters in force at a capture, kept as a blob, so that a later restore can ask what was looked at then. */

/** Stores the filters (one per root) and returns the blob's hash. Costs nothing where they did not change. */
export async function keepFilters(context: Context, filters: readonly FilterSpec[]): Promise<Hash> {
  return keepBytes(context.blobs, Buffer.from(canonicalJson(filters.map(toJson))));
}

/** The filters in a blob; `undefined` if it is not there. */
export async function readFilters(context: Context, hash: Hash): Promise<FilterSpec[] | undefined> {
  const bytes = await context.blobs.get(hash);
  if (bytes === undefined) return undefined;
  const value = parseCanonical(bytes.toString("utf8"));
  return Array.isArray(value) ? value.map((one: Json) => fromJson(object(one, "a filter"))) : undefined;
}

function toJson({ options, rules }: FilterSpec): Json {
  return {
    use_gitignore: options.useGitignore,
    exclude_patterns: options.excludePatterns,
    exclude_globs: options.excludeGlobs,
    force_include: options.forceInclude,
    rules: rules.map((rule) => ({
      folder: rule.folder.toWellFormed(),
      source: rule.source.toWellFormed(),
      text: rule.text.toWellFormed(),
    })),
  };
}

function fromJson(body: RecordBody): FilterSpec {
  return {
    options: {
      useGitignore: flag(body, "use_gitignore"),
      excludePatterns: texts(body, "exclude_patterns"),
      excludeGlobs: texts(body, "exclude_globs"),
      forceInclude: texts(body, "force_include"),
    },
    rules: list(body, "rules").map((item) => {
      const rule = object(item, "a rule file");
      return { folder: text(rule, "folder"), source: text(rule, "source"), text: text(rule, "text") };
    }),
  };
}
