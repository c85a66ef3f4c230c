import { AsyncLocalStorage } from "node:async_hooks";

/**
 * The actions of a library's `action(…)` in whose function the caller is, outermost first. One process may serve several
 * agents at once, so that its number does not tell which of them calls; what has called the function does.
 */
const surrounding = new AsyncLocalStorage<readonly string[]>();

/** Calls the function of an action: what it begins is begun within the action. */
export function insideAction<T>(id: string | undefined, work: () => T): T {
  return id === undefined ? work() : surrounding.run([...surroundingActions(), id], work);
}

/** The ids of the actions in whose function the caller is. To be asked before anything is waited for. */
export function surroundingActions(): readonly string[] {
  return surrounding.getStore() ?? [];
}
