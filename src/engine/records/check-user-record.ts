import { canonicalJson } from "../../core/values/canonical-json.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { RecordBody } from "../../core/values/event.ts";

/** The maximum length, in bytes of UTF-8, of the id that a user gives to a record. */
const MAX_RECORD_ID_BYTES = 1024;

const PREFIX = "user:";

/** Returns the record id in the log for a user's id. Throws `USAGE` if the id is empty, too long or not well-formed. */
export function userRecordId(id: string): string {
  if (typeof id !== "string" || id === "") throw refused("a record id is empty", "give the record a name");
  if (!id.isWellFormed())
    throw refused("a record id contains half of a surrogate pair", "use well-formed Unicode text");
  const bytes = Buffer.byteLength(id);
  if (bytes > MAX_RECORD_ID_BYTES) {
    throw refused(`a record id has ${bytes} bytes`, `use at most ${MAX_RECORD_ID_BYTES}`);
  }
  return PREFIX + id;
}

/** Returns the id that the user gave to a record: the record id in the log without its prefix. */
export function ownId(recordId: string): string {
  return recordId.slice(PREFIX.length);
}

export function isUserRecord(recordId: string): boolean {
  return recordId.startsWith(PREFIX);
}

/**
 * Returns the recursion depth, which is the depth of an agent in nested agents. The default is 0. Throws `USAGE` if the
 * depth is not a whole number from 0 up.
 */
export function checkedDepth(depth: number | undefined): number {
  if (depth === undefined) return 0;
  if (Number.isSafeInteger(depth) && depth >= 0) return depth;
  throw refused(`a recursion depth is ${String(depth)}`, "give a whole number from 0 up");
}

/** Returns a copy of a record. Throws `USAGE` if the record cannot be written as JSON without loss. */
export function plainRecord(record: RecordBody): RecordBody {
  if (record === null || typeof record !== "object" || Array.isArray(record)) {
    throw refused("a record is not an object", 'put the value into an object: {"value": …}');
  }
  try {
    const text = canonicalJson(record, { outer: 1 });
    refuseHiddenKeys(record);
    return JSON.parse(text) as RecordBody;
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "INTEGRITY_VIOLATION") throw error;
    throw refused(`the record is refused: ${error.message}`, "a record holds plain JSON values only");
  }
}

/**
 * Throws `USAGE` if the value has a key that JSON would leave out, or the key `__proto__`. The caller must have limited
 * how deeply the value is nested.
 */
function refuseHiddenKeys(value: unknown): void {
  if (value === null || typeof value !== "object") return;
  for (const key of Reflect.ownKeys(value)) {
    if (key === "length" && Array.isArray(value)) continue;
    if (typeof key === "symbol" || !Object.prototype.propertyIsEnumerable.call(value, key)) {
      throw refused(`the record has a hidden key ${String(key)}`, "a record holds plain JSON values only");
    }
    if (key === "__proto__") throw refused("the record has a key __proto__", "rename the key");
    refuseHiddenKeys((value as Record<string, unknown>)[key]);
  }
}

function refused(message: string, hint: string): ChronicleError {
  return new ChronicleError("USAGE", message, { hint });
}
