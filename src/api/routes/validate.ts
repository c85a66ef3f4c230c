import * as z from "zod";
import { ChronicleError } from "../../core/values/errors.ts";
import { complaintOf } from "./complaint.ts";

/** The query schema of rows that take no query. */
export const NO_QUERY = z.strictObject({});

/** The parsed value, or the error `USAGE`, which names the invalid field. */
export type Validated = { readonly value: unknown } | { readonly error: ChronicleError };

/** Validates the query or the body of a request by the schema of its row. */
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
