import type { Happening, Scripted } from "../../test/model/model-steps.ts";

/** A history from the generator of the model. Its paths are in the roots of its layout. */
export interface Play {
  readonly script: readonly Scripted[];
  /** The setting `max_snapshots` of the store. */
  readonly keep: number;
  readonly hooks: boolean;
  readonly layout: string;
  /** True if the workspace has no folder. */
  readonly hosted: boolean;
  readonly number: number;
}

/** A request to the program, and the answer. */
export interface Entry {
  /** The index of the step in the script; -1 before the first step. */
  readonly step: number;
  readonly what: Happening["kind"] | "begin-history" | "end-history";
  readonly call: string;
  readonly answer: unknown;
}

/** The answers of a program to one history, in order, and the files on disk at the end: path → mode and content. */
export interface Transcript {
  readonly entries: readonly Entry[];
  readonly files: Readonly<Record<string, string>>;
}

/** Collects the entries of a transcript. */
export class Notes {
  readonly entries: Entry[] = [];
  step = -1;
  what: Entry["what"] = "begin-history";

  add(call: string, answer: unknown): void {
    this.entries.push({ step: this.step, what: this.what, call, answer });
  }

  /** Sends a request, and notes the answer or the error. Resolves to the answer; `undefined` if there was an error. */
  async ask<T>(call: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await work();
      this.add(call, answer === undefined ? null : answer);
      return answer;
    } catch (error) {
      this.add(call, { error: errorOf(error) });
      return undefined;
    }
  }
}

function errorOf(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name, message } = error;
  const more = error as Error & { readonly code?: unknown; readonly hint?: unknown; readonly data?: unknown };
  // An error without a code is a defect of the program or of the play. The stack shows which.
  if (more.code === undefined) return { name, message, stack: error.stack };
  return { name, code: more.code, message, hint: more.hint, data: more.data };
}
