/** An error as Node throws it for a failed system call: the errno's name in `code`, the call and the path beside it. */
export function systemError(code: string, syscall: string, path = ""): Error {
  const place = path === "" ? "" : ` '${path}'`;
  return Object.assign(new Error(`${code}: simulated, ${syscall}${place}`), { code, syscall, path });
}

/**
 * The machine stopped here. Thrown by `SimDisk` when its plan says so, and by every later call, so that no code can go
 * on. Not a system error: nothing may take it for a failure that it can handle.
 */
export class SimulatedCrash extends Error {
  readonly code = "SIMULATED_CRASH";

  constructor(where: string) {
    super(`The simulated machine stopped at ${where}.`);
    this.name = "SimulatedCrash";
  }
}
