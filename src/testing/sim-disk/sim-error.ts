/**
 * Makes an error as Node throws it for a failed system call: the errno's name in `code`, with the call and the path.
 */
export function systemError(code: string, syscall: string, path = ""): Error {
  const place = path === "" ? "" : ` '${path}'`;
  return Object.assign(new Error(`${code}: simulated, ${syscall}${place}`), { code, syscall, path });
}

/**
 * Thrown by `SimDisk` when its plan stops the machine, and by every later call, so that no code can continue. It is not
 * a system error, so that no code treats it as a failure that can be handled.
 */
export class SimulatedCrash extends Error {
  readonly code = "SIMULATED_CRASH";

  constructor(where: string) {
    super(`The simulated machine stopped at ${where}.`);
    this.name = "SimulatedCrash";
  }
}
