import type { Role } from "../../api/routes/role.ts";
import type { Caller } from "./caller.ts";
import type { ServerLimits } from "../limits/limits.ts";
import { ConcurrencyLimit } from "../limits/concurrency-limit.ts";

/**
 * Limits the requests in progress, including streams and other protocols, which may go on for days: per token, per
 * role, and in all. The limits of readers and agents leave room for operators, and the total leaves room for health
 * checks, so that none of these can be shut out.
 */
export class RequestConcurrency {
  readonly #ofToken: Readonly<Record<Role, ConcurrencyLimit>>;
  readonly #ofRole: Readonly<Record<Role, ConcurrencyLimit>>;
  readonly #ofAll: ConcurrencyLimit;

  constructor({ connections, atOnce }: Pick<ServerLimits, "connections" | "atOnce">) {
    const slots = (share: number): ConcurrencyLimit =>
      new ConcurrencyLimit(Math.max(1, Math.floor(connections * share)));
    const { reader, agent, operator, all } = atOnce;
    this.#ofToken = { reader: slots(reader.token), agent: slots(agent.token), operator: slots(operator.token) };
    this.#ofRole = { reader: slots(reader.role), agent: slots(agent.role), operator: slots(operator.role) };
    this.#ofAll = slots(all);
  }

  /**
   * Takes a place for one request, to be given back; `undefined` if the token, its role or the server is at its limit.
   */
  take({ id, role, isOwner }: Caller): Disposable | undefined {
    if (isOwner) return NONE;
    const ofToken = this.#ofToken[role].take(id);
    const ofRole = ofToken && this.#ofRole[role].take(role);
    const ofAll = ofRole && this.#ofAll.take("");
    // A stack of disposables would cost every request more than the limits themselves.
    const giveBack = (): void => {
      ofToken?.[Symbol.dispose]();
      ofRole?.[Symbol.dispose]();
      ofAll?.[Symbol.dispose]();
    };
    if (ofAll !== undefined) return { [Symbol.dispose]: giveBack };
    giveBack();
    return undefined;
  }
}

const NONE: Disposable = { [Symbol.dispose]: () => undefined };
