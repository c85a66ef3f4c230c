import type { Happening, Scripted } from "../../test/model/model-steps.ts";

/** A history as the model's generator makes it, with its paths in its roots. */
export interface Play {
  readonly script: readonly Scripted[];
  readonly keep: number;
  readonly hooks: boolean;
  readonly layout: string;
  /** The workspace has no folder. */
  readonly hosted: boolean;
  readonly number: number;
}

/** One thing that was asked of a program, and all that came back. */
export interface Entry {
  /** The step of the script; -1 before it. */
  readonly step: number;
  readonly what: Happening["kind"] | "begin-history" | "end-history";
  readonly call: string;
  readonly answer: unknown;
}

/** What a program answered to one history, in its order, and what lay on disk in the end. */
export interface Transcript {
  readonly entries: readonly Entry[];
  readonly files: Readonly<Record<string, string>>;
}

/** Notes what is asked and answered. */
export class Notes {
  readonly entries: Entry[] = [];
  step = -1;
  what: Entry["what"] = "begin-history";

  add(call: string, answer: unknown): void {
    this.entries.push({ step: this.step, what: this.what, call, answer });
  }

  /** Asks, and notes the answer or the error. Resolves to the answer; `undefined` if there was an error. */
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
  // An error that the program did not make is a defect of it, or of the play: where it was thrown says which.
  if (more.code === undefined) return { name, message, stack: error.stack };
  return { name, code: more.code, message, hint: more.hint, data: more.data };
}
