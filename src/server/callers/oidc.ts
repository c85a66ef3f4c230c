import {
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
} from "jose";
import * as z from "zod";
import { type Role, ROLES } from "../../api/routes/role.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { sha256 } from "../../core/values/hash.ts";
import type { OtherIssuer } from "./authenticate.ts";
import type { Caller } from "./caller.ts";
import { isLoopback } from "./listener.ts";

/**
 * Options for the tokens of an OpenID provider (OpenID Connect Discovery 1.0; RFC 7519, 8725). The claims of a token
 * that the provider has signed for this server give the bearer's rights. A token without a claim of a role is not
 * valid. A token without a claim of workspaces is for no workspace.
 */
export interface OidcOptions {
  /** The issuer, exactly as the provider's tokens name it, such as `https://login.example.org`. */
  readonly issuer: string;
  /** The audience that tokens for this server must name. */
  readonly audience: string;
  /**
   * The claim with the role: `reader`, `agent` or `operator`, or a list of roles. If it is a list, the most powerful
   * role applies.
   */
  readonly roleClaim: string;
  /** The claim with the ids and names of workspaces, as a list or separated by spaces; `*` means all. */
  readonly workspacesClaim: string;
  /** In epoch milliseconds. */
  readonly now: () => number;
  /**
   * The minimum age, in milliseconds, of the keys that were read. If a token has an unknown key, older keys are read
   * again. Default: 10,000.
   */
  readonly newKeyMs?: number;
}

/**
 * The accepted algorithms. All are asymmetric, because with a shared secret, anybody who can verify tokens could also
 * make them.
 */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
/** The tolerated difference between the clocks of the provider and the server, in seconds. */
const CLOCK_TOLERANCE = 10;
/** The timeout of a request to the provider, in milliseconds. */
const TIMEOUT_MS = 5_000;
/** The time after which the provider's metadata is read again, in milliseconds. */
const METADATA_MS = 3_600_000;
/** The time after a failed request in which no further request is sent to the provider, in milliseconds. */
const FAILED_MS = 5_000;
/** The time after which the keys are read again, in milliseconds. */
const KEYS_MS = 600_000;
const NEW_KEY_MS = 10_000;
/** The maximum number of workspaces that are taken from a claim. Further workspaces are ignored. */
const MOST_WORKSPACES = 1_000;

/**
 * The keys of a provider. They are read again after `KEYS_MS`, and after `newKeyMs` if a token has an unknown key.
 * While the provider cannot be reached, the last keys stay valid.
 */
class ProviderKeys {
  readonly #remote: ReturnType<typeof createRemoteJWKSet>;
  readonly #options: OidcOptions;
  #readAt = -Infinity;
  #isReading = false;
  #failed: { readonly until: number; readonly error: unknown } | undefined;

  constructor(uri: URL, options: OidcOptions) {
    this.#options = options;
    // `jose` must not read the keys again by itself, because it would drop them if the provider could not be reached.
    this.#remote = createRemoteJWKSet(uri, {
      ...{ timeoutDuration: TIMEOUT_MS, cooldownDuration: Infinity, cacheMaxAge: Infinity },
    });
  }

  readonly find: JWTVerifyGetKey = async (header, token) => {
    const { now, newKeyMs = NEW_KEY_MS } = this.#options;
    if (now() - this.#readAt >= KEYS_MS) await this.#readAgain();
    try {
      return await this.#remote(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || now() - this.#readAt < newKeyMs) throw error;
      await this.#read();
      return this.#remote(header, token);
    }
  };

  /**
   * Reads the keys again. If reading fails, or another read is in progress, the last keys stay valid. Throws if reading
   * fails and no keys are known.
   */
  async #readAgain(): Promise<void> {
    const isKnown = this.#remote.jwks() !== undefined;
    if (isKnown && this.#isReading) return;
    try {
      await this.#read();
    } catch (error) {
      if (!isKnown) throw error;
    }
  }

  async #read(): Promise<void> {
    const { now } = this.#options;
    if (this.#failed !== undefined && now() < this.#failed.until) throw this.#failed.error;
    this.#isReading = true;
    try {
      await this.#remote.reload();
      this.#readAt = now();
      this.#failed = undefined;
    } catch (error) {
      this.#failed = { until: now() + FAILED_MS, error };
      throw error;
    } finally {
      this.#isReading = false;
    }
  }
}

/**
 * Returns the function that finds the bearers of the provider's tokens. The function throws `UNAVAILABLE` if the
 * provider's keys cannot be read.
 */
export function oidcIssuer(options: OidcOptions): OtherIssuer {
  const provider = new Provider(options);
  return async (token) => {
    if (!isOfIssuer(token, options.issuer)) return undefined;
    const claims = await verified(token, await provider.keys(), options);
    return claims === undefined ? undefined : callerOf(claims, options);
  };
}

/** True if the token names this issuer and an accepted algorithm. Does not verify the token. */
function isOfIssuer(token: string, issuer: string): boolean {
  try {
    return ALGORITHMS.includes(decodeProtectedHeader(token).alg ?? "") && decodeJwt(token).iss === issuer;
  } catch {
    return false;
  }
}

async function verified(token: string, keys: ProviderKeys, options: OidcOptions): Promise<JWTPayload | undefined> {
  const { issuer, audience, now } = options;
  try {
    const { payload } = await jwtVerify(token, keys.find, {
      ...{ issuer, audience, algorithms: ALGORITHMS, clockTolerance: CLOCK_TOLERANCE },
      currentDate: new Date(now()),
      requiredClaims: ["sub", "exp"],
    });
    return payload;
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw unreachable(issuer, error);
  }
}

/** True if the token is invalid. Any other error means that the provider cannot be reached. */
function isRefusal(error: unknown): boolean {
  return [
    errors.JWTClaimValidationFailed,
    errors.JWTExpired,
    errors.JWTInvalid,
    errors.JWSInvalid,
    errors.JWSSignatureVerificationFailed,
    errors.JWKSNoMatchingKey,
    errors.JWKSMultipleMatchingKeys,
    errors.JOSEAlgNotAllowed,
    errors.JOSENotSupported,
  ].some((kind) => error instanceof kind);
}

function unreachable(issuer: string, cause: unknown): ChronicleError {
  return new ChronicleError("UNAVAILABLE", `the issuer of tokens, ${issuer}, cannot be reached now`, { cause });
}

/** The maximum length of a `sub` that is part of the caller's id. A longer `sub` is replaced by its hash. */
const LONG_SUB = 58;

function callerOf(claims: JWTPayload, { roleClaim, workspacesClaim }: OidcOptions): Caller | undefined {
  const role = roleOf(claims[roleClaim]);
  const { sub, preferred_username: known } = claims;
  if (role === undefined || sub === undefined || sub === "" || sub.length > 255 || !sub.isWellFormed())
    return undefined;
  const name = [known, sub].find((one) => typeof one === "string" && /^[\x20-\x7e]{1,100}$/.test(one));
  const workspaces = workspacesOf(claims[workspacesClaim]);
  return {
    // The id must be short, because it is part of request ids, whose length is limited.
    id: sub.length > LONG_SUB ? `oidc#${sha256(sub).slice(0, 48)}` : `oidc:${sub}`,
    name: typeof name === "string" ? name : "oidc",
    role,
    isOwner: false,
    ...(workspaces === "*" ? {} : { workspaces }),
  };
}

/** Returns the most powerful role in a claim; `undefined` if the claim has no role. */
function roleOf(claim: unknown): Role | undefined {
  const given = Array.isArray(claim) ? claim : [claim];
  return ROLES.findLast((role) => given.includes(role));
}

function workspacesOf(claim: unknown): readonly string[] | "*" {
  const given: unknown[] = typeof claim === "string" ? claim.split(" ") : Array.isArray(claim) ? claim : [];
  const names = given.filter((one): one is string => typeof one === "string" && one !== "");
  return names.includes("*") ? "*" : names.slice(0, MOST_WORKSPACES);
}

const DISCOVERY = z.object({ issuer: z.string(), jwks_uri: z.url() });

/** A provider and its present keys. Its metadata is read when the keys are first needed. */
class Provider {
  readonly #options: OidcOptions;
  #keys: Promise<ProviderKeys> | undefined;
  /** A call of `keys` reads the metadata again if it comes at this time or later (epoch milliseconds). */
  #until = 0;
  #known: { readonly uri: string; readonly keys: ProviderKeys } | undefined;

  constructor(options: OidcOptions) {
    this.#options = options;
  }

  keys(): Promise<ProviderKeys> {
    const now = this.#options.now();
    if (this.#keys === undefined || now >= this.#until) {
      this.#until = now + METADATA_MS;
      this.#keys = this.#discover().catch((error: unknown) => {
        this.#until = this.#options.now() + FAILED_MS;
        // The known keys stay valid until the metadata can be read again.
        if (this.#known !== undefined) return this.#known.keys;
        throw unreachable(this.#options.issuer, error);
      });
    }
    return this.#keys;
  }

  async #discover(): Promise<ProviderKeys> {
    const { issuer } = this.#options;
    const asked = await fetch(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, {
      headers: { accept: "application/json" },
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!asked.ok) throw new Error(`it answers ${asked.status}`);
    const said = DISCOVERY.parse(await asked.json());
    if (said.issuer !== issuer) throw new Error(`its metadata names the issuer ${said.issuer}`);
    const uri = new URL(said.jwks_uri);
    if (!isSafe(uri)) throw new Error("the URL of its keys is not https");
    if (this.#known?.uri !== uri.href) this.#known = { uri: uri.href, keys: new ProviderKeys(uri, this.#options) };
    return this.#known.keys;
  }
}

/** True for a URL that uses TLS or is on this machine. */
function isSafe({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}
