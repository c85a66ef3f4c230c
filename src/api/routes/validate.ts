import { ChronicleError } from "../../core/values/errors.ts";
import * as z from "zod";

export const NO_QUERY = z.strictObject({});

/** The result of a validation: the parsed value, or the error `USAGE` with the name of the invalid field. */
export type Validated = { readonly value: unknown } | { readonly error: ChronicleError };

export function validate(schema: z.ZodType, given: unknown, part: "query" | "body"): Validated {
  if (schema === NO_QUERY) return noQuery(given);
  const parsed = schema.safeParse(given);
  if (parsed.success) return { value: parsed.data };
  const [issue] = parsed.error.issues;
  const field = [part, ...(issue?.path ?? [])].map(String).join(".");
  const complaint = shortened(issue === undefined ? "does not fit" : complaintOf(issue));
  const hint = "/v1/openapi.json says what each request takes";
  return { error: new ChronicleError("USAGE", `${field}: ${complaint}`, { hint, data: { field } }) };
}

function noQuery(given: unknown): Validated {
  const [first] = Object.keys(given ?? {});
  if (first === undefined) return { value: {} };
  const message = `query: ${shortened(first)} is not known here`;
  return { error: new ChronicleError("USAGE", message, { data: { field: "query" } }) };
}

const MAX_COMPLAINT = 300;

function shortened(text: string): string {
  return text.length > MAX_COMPLAINT ? `${text.slice(0, MAX_COMPLAINT)}…` : text;
}

/** Describes an issue for people. For a kind of issue without a case here, returns the schema's own message. */
export function complaintOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined && issue.message.endsWith("received undefined")
        ? "is missing"
        : `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case "unrecognized_keys":
      return `${issue.keys.join(", ")} ${issue.keys.length === 1 ? "is" : "are"} not known here`;
    case "invalid_value":
      return `must be ${issue.values.map(String).join(" or ")}`;
    case "too_small":
      return issue.origin === "string" ? "must not be empty" : `must be at least ${issue.minimum}`;
    case "too_big":
      return issue.origin === "number" || issue.origin === "int"
        ? `must be at most ${issue.maximum}`
        : `is too long: at most ${issue.maximum} ${issue.origin === "string" ? "characters" : "of them"}`;
    case "invalid_union": {
      const [first] = issue.errors.flat();
      return first === undefined ? "does not fit" : complaintOf(first);
    }
    default:
      return issue.message;
  }
}

const KINDS: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};
