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
 * Tokens of an OpenID provider (OpenID Connect Discovery 1.0; RFC 7519, 8725). The bearer of a token that the provider
 * signed for this server has the rights in the token's claims. A token without the claims grants none.
 */
export interface OidcOptions {
  /** The provider's identifier, as in its tokens: `https://login.example.org`. */
  readonly issuer: string;
  /** The audience that tokens for this server must name. */
  readonly audience: string;
  /** Holds `reader`, `agent` or `operator`, or a list of them, of which the highest counts. */
  readonly roleClaim: string;
  /** Holds a list of ids and names of workspaces (or a text, separated by blanks); `*`: all of them. */
  readonly workspacesClaim: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Keys are read again for an unknown key, but at most this often, in milliseconds. Default: 10 s. */
  readonly newKeyMs?: number;
}

/** Asymmetric algorithms only: with a shared secret, every checker of tokens could make them. */
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
/** Tolerated difference between clocks, in seconds. */
const CLOCK_TOLERANCE = 10;
const TIMEOUT_MS = 5_000;
/** The provider's metadata is read again after this time, in milliseconds. */
const KNOWN_MS = 3_600_000;
/** A provider that did not answer is not asked again for this long, in milliseconds. */
const FAILED_MS = 5_000;
/** Keys are read again after this time, in milliseconds; for an unknown key, sooner. */
const KEYS_MS = 600_000;
const NEW_KEY_MS = 10_000;
const MOST_WORKSPACES = 1_000;

/**
 * The keys of a provider as last read. They stay valid if the provider cannot be reached: they are read again after
 * `KEYS_MS`, for an unknown key after `newKeyMs`, and after a failure not before `FAILED_MS`.
 */
class ProviderKeys {
  readonly #remote: ReturnType<typeof createRemoteJWKSet>;
  readonly #options: OidcOptions;
  #readAt = -Infinity;
  #isReading = false;
  #failed: { readonly until: number; readonly error: unknown } | undefined;

  constructor(uri: URL, options: OidcOptions) {
    this.#options = options;
    // This class decides when to read: jose would drop its keys if it could not read them anew.
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

  /** Reads the keys again. During another read, goes on with the known keys. Throws if there are none. */
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

/** Finds the bearer of a provider's token. Throws `UNAVAILABLE` while the provider cannot be reached. */
export function oidcIssuer(options: OidcOptions): OtherIssuer {
  const provider = new Provider(options);
  return async (token) => {
    if (!isOfIssuer(token, options.issuer)) return undefined;
    const claims = await verified(token, await provider.keys(), options);
    return claims === undefined ? undefined : callerOf(claims, options);
  };
}

/** True if the token claims to be the provider's, so that checking it is worthwhile. None of this is trusted. */
function isOfIssuer(token: string, issuer: string): boolean {
  try {
    return ALGORITHMS.includes(decodeProtectedHeader(token).alg ?? "") && decodeJwt(token).iss === issuer;
  } catch {
    // No token of this kind.
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

/** True if the error means that the token is wrong, and not that the provider cannot be reached. */
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
  return new ChronicleError("UNAVAILABLE", `the provider of tokens, ${issuer}, cannot be asked now`, { cause });
}

/** A longer `sub` is replaced by its digest. */
const LONG_SUB = 58;

function callerOf(claims: JWTPayload, { roleClaim, workspacesClaim }: OidcOptions): Caller | undefined {
  const role = roleOf(claims[roleClaim]);
  const { sub, preferred_username: known } = claims;
  if (role === undefined || sub === undefined || sub === "" || sub.length > 255 || !sub.isWellFormed())
    return undefined;
  const name = [known, sub].find((one) => typeof one === "string" && /^[\x20-\x7e]{1,100}$/.test(one));
  const workspaces = workspacesOf(claims[workspacesClaim]);
  return {
    // Idempotency keys begin with the id, and have room for this many characters.
    id: sub.length > LONG_SUB ? `oidc#${sha256(sub).slice(0, 48)}` : `oidc:${sub}`,
    name: typeof name === "string" ? name : "oidc",
    role,
    isOwner: false,
    ...(workspaces === "*" ? {} : { workspaces }),
  };
}

/** The highest role of a claim. */
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

/** The OIDC provider, whose metadata is read when first needed. */
class Provider {
  readonly #options: OidcOptions;
  #keys: Promise<ProviderKeys> | undefined;
  /** Time of the next read, epoch milliseconds. */
  #until = 0;
  #known: { readonly uri: string; readonly keys: ProviderKeys } | undefined;

  constructor(options: OidcOptions) {
    this.#options = options;
  }

  keys(): Promise<ProviderKeys> {
    const now = this.#options.now();
    if (this.#keys === undefined || now >= this.#until) {
      this.#until = now + KNOWN_MS;
      this.#keys = this.#discover().catch((error: unknown) => {
        this.#until = this.#options.now() + FAILED_MS;
        // The keys read before stay valid until newer ones are read.
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
    if (said.issuer !== issuer) throw new Error(`it calls itself ${said.issuer}`);
    const uri = new URL(said.jwks_uri);
    if (!isSafe(uri)) throw new Error("its keys are not behind https");
    if (this.#known?.uri !== uri.href) this.#known = { uri: uri.href, keys: new ProviderKeys(uri, this.#options) };
    return this.#known.keys;
  }
}

/** True if keys may be fetched from this URL: by TLS, or from this machine. */
function isSafe({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}
