import { canonicalJson, parseCanonical } from "../../core/values/canonical-json.ts";
import type { Json, RecordBody } from "../../core/values/event.ts";
import type { FilterSpec, RepositoryRules, RuleFile } from "../../core/filter/filter.ts";
import type { Hash } from "../../core/values/hash.ts";
import { comparePaths, decodeName, pathToBytes } from "../../core/values/path.ts";
import { flag, list, object, optionalText, text, texts } from "../../core/values/record-fields.ts";
import { decodeFilter, encodeFilter } from "../../core/records/workspace-record.ts";
import type { Context } from "./context.ts";
import { keepBytes } from "./quota.ts";

/**
 * Stores the filters (one per root) as one blob, and returns the hash of the blob. Writes nothing if the blob is stored
 * already.
 */
export async function keepFilters(context: Context, filters: readonly FilterSpec[]): Promise<Hash> {
  return keepBytes(context.blobs, Buffer.from(canonicalJson(filters.map(toJson))));
}

/** Returns the filters in a blob; `undefined` if the blob is missing or is no list. */
export async function readFilters(context: Context, hash: Hash): Promise<FilterSpec[] | undefined> {
  const bytes = await context.blobs.get(hash);
  if (bytes === undefined) return undefined;
  const value = parseCanonical(bytes.toString("utf8"));
  return Array.isArray(value) ? value.map((one: Json) => fromJson(object(one, "a filter"))) : undefined;
}

function toJson({ options, rules, repositories = [] }: FilterSpec): Json {
  return {
    ...encodeFilter(options),
    rules: rules.map(ruleJson),
    ...(repositories.length === 0 ? {} : { repositories: repositories.map(repositoryJson) }),
  };
}

function ruleJson({ folder, source, text: rules, above }: RuleFile): Json {
  const outside = above === undefined ? {} : bytesField("above", above);
  return { ...bytesField("folder", folder), ...bytesField("source", source), ...bytesField("text", rules), ...outside };
}

function repositoryJson({ folder, ignoreCase, tracked }: RepositoryRules): Json {
  const others = tracked.filter((path) => !path.isWellFormed());
  return {
    ...bytesField("folder", folder),
    ignore_case: ignoreCase,
    tracked: tracked.filter((path) => path.isWellFormed()),
    ...(others.length === 0 ? {} : { tracked_b64: others.map((path) => pathToBytes(path).toString("base64")) }),
  };
}

function fromJson(body: RecordBody): FilterSpec {
  const repositories = body["repositories"] === undefined ? [] : list(body, "repositories");
  return {
    options: decodeFilter(body),
    rules: list(body, "rules").map((item) => ruleOf(object(item, "a rule file"))),
    ...(repositories.length === 0
      ? {}
      : { repositories: repositories.map((item) => repositoryOf(object(item, "a repository"))) }),
  };
}

function ruleOf(body: RecordBody): RuleFile {
  const rule = { folder: fieldOf(body, "folder"), source: fieldOf(body, "source"), text: fieldOf(body, "text") };
  const isOutside = body["above"] !== undefined || body["above_b64"] !== undefined;
  return isOutside ? { ...rule, above: fieldOf(body, "above") } : rule;
}

function repositoryOf(body: RecordBody): RepositoryRules {
  const encoded = body["tracked_b64"] === undefined ? [] : texts(body, "tracked_b64");
  const others = encoded.map((one) => decodeName(Buffer.from(one, "base64")));
  const tracked = [...texts(body, "tracked"), ...others].sort(comparePaths);
  return { folder: fieldOf(body, "folder"), ignoreCase: flag(body, "ignore_case"), tracked };
}

/**
 * Encodes a text as the field `name`. If the text is not well-formed Unicode, encodes its bytes in Base64 as the field
 * `<name>_b64`.
 */
function bytesField(name: string, value: string): Record<string, Json> {
  return value.isWellFormed() ? { [name]: value } : { [`${name}_b64`]: pathToBytes(value).toString("base64") };
}

function fieldOf(body: RecordBody, name: string): string {
  const encoded = optionalText(body, `${name}_b64`);
  return encoded === undefined ? text(body, name) : decodeName(Buffer.from(encoded, "base64"));
}
