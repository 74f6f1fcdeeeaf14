/** Root keys wrapped by an AES key of a PKCS#11 token, such as a hardware security module. The key never leaves the token. */
import { randomBytes } from 'node:crypto'
import { VaultError } from '../../../core/errors.ts'
import type { KeyProvider } from '../../../core/ports/crypto.ts'
import { readOptions } from '../../../core/util/options.ts'
import { missingPackageError, resolvePackage } from '../../packages/require-package.ts'
import { isSecretText, readSecretText, type SecretText } from '../services/secret-text.ts'
import { type KeyServiceFailure, type KeyServiceLimits, serviceKeys } from '../services/service-keys.ts'
import { createTokenThread, TokenError } from './token-thread.ts'
import type { TokenFailure, TokenRequest } from './token-worker.ts'

/** Which key of which token wraps, and how the token is reached. */
export interface Pkcs11KeysOptions extends KeyServiceLimits {
  /** Library of the token, such as `/usr/lib/softhsm/libsofthsm2.so`. It runs inside this process. */
  readonly module: string
  /** Label of the token. */
  readonly tokenLabel: string
  /** PIN of the user, or a function that returns it when a session begins or a call is made. */
  readonly pin: SecretText
  /** Label of the AES key that wraps. Wrapped keys name theirs, so the key that was replaced goes on unwrapping while the token has it. */
  readonly keyLabel: string
}

const NAME = 'PKCS#11'
const PACKAGE = { user: 'pkcs11Keys', name: 'pkcs11js' } as const
const IV_BYTES = 12
const KEY_BYTES = 32
const TAG_BYTES = 16

/**
 * Returns a key provider that wraps with AES-GCM inside the token (CKM_AES_GCM with associated data). Wrapped bytes are `iv 12 | ciphertext 32 |
 * tag 16`, and `keyId` is the label of the key. The token must accept an IV of the caller, and have one key of each label. `close` ends the session; a later
 * call begins another. Throws `invalid_request` if an option is wrong. Source: PKCS #11, version 2.40.
 */
export function pkcs11Keys(options: Pkcs11KeysOptions): KeyProvider {
  const { module, tokenLabel, pin, keyLabel, ...limits } = checkOptions(options)
  const thread = createTokenThread(() => ({ packageFile: resolvePackage(PACKAGE), module, tokenLabel }))
  const ask = async (request: Omit<TokenRequest, 'id' | 'pin'>, signal: AbortSignal) => {
    const text = await readSecretText(pin, { service: NAME, option: 'pin' })
    signal.throwIfAborted()
    return thread.ask({ ...request, pin: text }, signal)
  }
  return serviceKeys(
    {
      name: NAME,
      async wrap(key, associatedData, signal) {
        const iv = new Uint8Array(randomBytes(IV_BYTES))
        const sealed = await ask({ task: 'wrap', keyLabel, iv, associatedData, bytes: key }, signal)
        const bytes = new Uint8Array(IV_BYTES + sealed.length)
        bytes.set(iv)
        bytes.set(sealed, IV_BYTES)
        return { keyId: keyLabel, bytes }
      },
      async unwrap({ keyId, bytes }, associatedData, signal) {
        if (bytes.length !== IV_BYTES + KEY_BYTES + TAG_BYTES) throw new TokenError({ stage: 'mismatch' })
        const iv = bytes.subarray(0, IV_BYTES)
        return ask({ task: 'unwrap', keyLabel: keyId, iv, associatedData, bytes: bytes.subarray(IV_BYTES) }, signal)
      },
      currentKeyId: async () => keyLabel,
      close: () => thread.close(),
      failureOf: (error) => failureOf(error, options),
    },
    limits,
  )
}

function checkOptions(options: Pkcs11KeysOptions): Pkcs11KeysOptions {
  const names = ['module', 'tokenLabel', 'pin', 'keyLabel', 'callTimeoutMs', 'openTimeoutMs'] as const
  const checked = readOptions(options, names, { of: 'pkcs11Keys' })
  const { module, tokenLabel, pin, keyLabel } = checked
  for (const [name, text] of Object.entries({ module, tokenLabel, keyLabel }))
    if (typeof text !== 'string' || text === '')
      throw new VaultError('invalid_request', `pkcs11Keys: \`${name}\` must be a text.`)
  if (!isSecretText(pin)) throw new VaultError('invalid_request', 'pkcs11Keys: `pin` must be a text, or a function.')
  return checked
}

/** Codes of PKCS #11 that say that the token or its session is away or fails. */
const AWAY: ReadonlySet<number> = new Set([
  0x02, 0x03, 0x05, 0x06, 0x30, 0x31, 0x32, 0x50, 0x60, 0x82, 0x90, 0x91, 0xb0, 0xb3, 0xe0, 0xe1, 0x101, 0x190,
])
/** Codes that say that the key, the mechanism or the PIN is not allowed. */
const REFUSED: ReadonlySet<number> = new Set([0x62, 0x63, 0x68, 0x70, 0x71, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0x102, 0x103])
/** There are too many sessions. */
const SESSION_COUNT = 0xb1
/** From here on the maker of the token gives codes a meaning: mostly of its network. */
const VENDOR_DEFINED = 0x8000_0000

function failureOf(error: unknown, { module, tokenLabel }: Pkcs11KeysOptions): KeyServiceFailure {
  if (!(error instanceof TokenError)) return { kind: 'unknown' }
  const { stage, code } = error.failure
  const text = textOf(error.failure, { module, tokenLabel })
  if (text !== undefined) throw new VaultError(stage === 'token' ? 'unavailable' : 'failed_precondition', text)
  if (stage === 'package') throw missingPackageError(PACKAGE, undefined)
  if (stage !== 'call') return { kind: stage === 'mismatch' ? 'mismatch' : 'refused' }
  if (code === undefined) return { kind: 'unavailable', code: 'no answer' }
  return { kind: kindOf(code), code: `0x${code.toString(16)}` }
}

function textOf(
  { stage }: TokenFailure,
  { module, tokenLabel }: Pick<Pkcs11KeysOptions, 'module' | 'tokenLabel'>,
): string | undefined {
  if (stage === 'module')
    return `${NAME}: the library ${module} cannot be loaded. Check its path, and that it is of this processor.`
  if (stage === 'token') return `${NAME}: no token has the label ${tokenLabel}. Check the label and the device, then retry.`
  if (stage === 'keys') return `${NAME}: several keys of the token have the same label. Give each its own.`
  return undefined
}

function kindOf(code: number): KeyServiceFailure['kind'] {
  if (code === SESSION_COUNT) return 'throttled'
  if (AWAY.has(code) || code >= VENDOR_DEFINED) return 'unavailable'
  return REFUSED.has(code) ? 'refused' : 'unknown'
}
