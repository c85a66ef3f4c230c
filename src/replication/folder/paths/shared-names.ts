import { ChronicleError } from "../../../core/values/errors.ts";
import { ProtectedNames } from "../../../core/filter/protected-names.ts";
import { Signal } from "../../../util/signal.ts";
import { catchUp } from "../../../engine/log/catch-up.ts";
import type { HistoryContext } from "../../../engine/log/context.ts";
import { protectedNames } from "../../../engine/state/protected.ts";
import type { Mirror } from "../../replica/mirror.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";

/** Where names of secrets are added. */
interface NamingSides {
  readonly context: HistoryContext;
  readonly mirror: Pick<Mirror, "protectedNames">;
}

/** The names of secrets that count in a sync: what people have added here, and at the origin. */
export class SharedNames {
  /** They are others than before. */
  readonly changed = new Signal<void>();
  readonly #sides: NamingSides;
  readonly #rules: ReplicatedPaths;

  constructor(sides: NamingSides, rules: ReplicatedPaths) {
    this.#sides = sides;
    this.#rules = rules;
  }

  /** Looks what they are now; those of the origin. */
  async refresh(): Promise<readonly string[]> {
    const { context, mirror } = this.#sides;
    const there = await mirror.protectedNames();
    const here = await protectedNames(context).catch((error: unknown) => explained(context, error));
    if (this.#rules.know(here, new ProtectedNames(there))) this.changed.emit();
    return there;
  }
}

/** Where an event cannot be read, a look at the whole log says why, and how a person goes on. Always throws. */
async function explained(context: HistoryContext, error: unknown): Promise<never> {
  if (error instanceof ChronicleError && error.code === "LOG_DAMAGED")
    throw (await catchUp(context, { recover: false })).damage ?? error;
  throw error;
}
