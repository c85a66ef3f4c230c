import { ChronicleError } from "../../../core/values/errors.ts";
import { ProtectedNames } from "../../../core/filter/protected-names.ts";
import { Signal } from "../../../util/signal.ts";
import { catchUp } from "../../../engine/log/catch-up.ts";
import type { HistoryContext } from "../../../engine/log/context.ts";
import { workspaceRecord } from "../../../engine/log/own-record.ts";
import type { AddedNames } from "../../../engine/replica/replica-state.ts";
import { protectedNames } from "../../../engine/state/protected.ts";
import type { Mirror } from "../../replica/mirror.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";

interface NamingSides {
  readonly context: HistoryContext;
  readonly mirror: Pick<Mirror, "protectedNames">;
}

/** The names of secrets that apply in a sync: those of the folder and those of the origin. */
export class SharedNames {
  readonly changed = new Signal<void>();
  readonly #sides: NamingSides;
  readonly #rules: ReplicatedPaths;

  constructor(sides: NamingSides, rules: ReplicatedPaths) {
    this.#sides = sides;
    this.#rules = rules;
  }

  /** Reads the names on both sides and gives them to the rules. Returns the names that people have added. */
  async refresh(): Promise<AddedNames> {
    const { context, mirror } = this.#sides;
    const there = await mirror.protectedNames();
    const [here, own] = await namesHere(context).catch((error: unknown) => explained(context, error));
    if (this.#rules.know(here, new ProtectedNames(there))) this.changed.emit();
    return { here: own, there };
  }
}

/** Returns all names of secrets that apply in the folder, and the names that people have added in the folder. */
async function namesHere(context: HistoryContext): Promise<readonly [ProtectedNames, readonly string[]]> {
  const { protectedNames: own = [] } = await workspaceRecord(context);
  return [await protectedNames(context), own];
}

/**
 * Throws the error again. If the log is damaged, throws the error that `catchUp` reports instead, because the error of
 * `catchUp` says what a person can do.
 */
async function explained(context: HistoryContext, error: unknown): Promise<never> {
  if (error instanceof ChronicleError && error.code === "LOG_DAMAGED")
    throw (await catchUp(context, { recover: false })).damage ?? error;
  throw error;
}
