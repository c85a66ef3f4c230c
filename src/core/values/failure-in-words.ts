import { hintOfErrno, STAYS_IN_WORDS, troubleInWords } from "./errno.ts";
import { ChronicleError, type ErrorCode, errnoOf } from "./errors.ts";

/** A description of a failure of the store or the machine, for people who must not know the machine's paths. */
interface FailureInWords {
  /** The name of the system error that caused the failure; `undefined` if there is none. */
  readonly errno: string | undefined;
  /** The reason in words; `undefined` if no text is known. */
  readonly why: string | undefined;
  /** The next step, which may name a command; `undefined` if no step is known. */
  readonly hint: string | undefined;
}

/** Describes a failure without paths or other names of the machine. */
export function failureInWords(error: ChronicleError): FailureInWords {
  const errno = errnoWithin(error);
  return {
    errno,
    why: whyOf(error, errno),
    hint: errno === undefined ? DAMAGE_HINTS[error.code] : hintOfErrno(errno),
  };
}

function whyOf({ code, data }: ChronicleError, errno: string | undefined): string | undefined {
  if (data["stays"] === true) return STAYS_IN_WORDS;
  if (errno !== undefined) return troubleInWords(errno);
  return CODES_IN_WORDS[code];
}

const CODES_IN_WORDS: Readonly<Partial<Record<ErrorCode, string>>> = {
  POISONED: "an earlier write could not be made durable, so the store refuses all writes until the disk works again",
  INTEGRITY_VIOLATION: "something in the store differs from what was recorded",
  BLOB_MISSING: "a content is not in the store",
  BLOB_CORRUPT: "a content in the store is damaged",
  LOG_DAMAGED: "a log in the store is damaged, or cannot be read",
  ROLLBACK_DETECTED: "a history does not continue from its kept head",
};

const LOOK = "`chronicle doctor` and `chronicle verify` say what is wrong with the store";
const DAMAGE_HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  INTEGRITY_VIOLATION: LOOK,
  BLOB_MISSING: LOOK,
  BLOB_CORRUPT: LOOK,
  LOG_DAMAGED: LOOK,
  ROLLBACK_DETECTED: LOOK,
};

function errnoWithin(error: ChronicleError): string | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const errno = at instanceof ChronicleError ? errnoIn(at) : errnoOf(at);
    if (errno !== undefined) return errno;
  }
  return undefined;
}

export function errnoIn({ data }: ChronicleError): string | undefined {
  return typeof data["errno"] === "string" ? data["errno"] : undefined;
}
