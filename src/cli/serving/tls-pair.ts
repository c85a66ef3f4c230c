import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { ChronicleError } from "../../core/values/errors.ts";
import type { PortPlace } from "../../server/http-server.ts";
import { readUserFile } from "../../process/read-json-list.ts";
import { usageError } from "../../process/usage-error.ts";

/** Paths of a certificate and of its key, as typed. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly cwd: string;
}

/**
 * A certificate (with its chain) and its key, in PEM. Throws `USAGE`, naming the option and the file, for any other
 * content.
 */
export function tlsPair({ cert, key, cwd }: TlsFiles): NonNullable<PortPlace["tls"]> {
  const pair = { cert: read("--tls-cert", cert, cwd), key: read("--tls-key", key, cwd) };
  const certificate = certificateOf(pair.cert, cert);
  if (!certificate.checkPrivateKey(keyOf(pair.key, key))) {
    throw usageError(
      `the key of --tls-key ${key} does not belong to the certificate of --tls-cert ${cert}`,
      "give the two that were made together; the server's own certificate comes first in its file",
    );
  }
  return pair;
}

function read(flag: string, file: string, cwd: string): string {
  const text = readUserFile(file, cwd, flag);
  if (text.includes("-----BEGIN ")) return text;
  throw usageError(`${flag} ${file} is no PEM file`, "one begins with -----BEGIN …-----");
}

function certificateOf(pem: string, file: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw notIn("--tls-cert", file, { what: "certificate", cause });
  }
}

function keyOf(pem: string, file: string): KeyObject {
  if (/-----BEGIN ENCRYPTED|Proc-Type: 4,ENCRYPTED/.test(pem)) {
    throw usageError(
      `the key of --tls-key ${file} is locked by a passphrase, which nobody is there to give`,
      `write it without one: openssl pkey -in ${file} -out FILE`,
    );
  }
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    throw notIn("--tls-key", file, { what: "private key", cause });
  }
}

function notIn(
  flag: string,
  file: string,
  { what, cause }: { readonly what: string; readonly cause: unknown },
): ChronicleError {
  const why = cause instanceof Error ? ` (${cause.message})` : "";
  return usageError(`${flag} ${file} holds no ${what} that can be read${why}`, `give a PEM file with a ${what}`);
}
