import type * as z from "zod";

/** Describes in plain words what is wrong with a field. A message that the schema wrote itself is passed on. */
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
