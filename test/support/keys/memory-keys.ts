/** A key service in memory, and providers of it that are broken on purpose, one fault each, which the conformance suite must detect. */
import { setTimeout as pause } from 'node:timers/promises'
import { type KeyService, type KeyServiceFailure, serviceKeys } from '../../../src/adapters/keys/services/service-keys.ts'
import type { KeyServiceFault, KeysUnderTest } from '../../../src/conformance/keys/index.ts'
import { isVaultError, VaultError } from '../../../src/core/errors.ts'
import type { KeyProvider, WrappedKey } from '../../../src/core/ports/crypto.ts'
import { createServedKeys, KeyRefusal, type RefusalReason, type ServedKeys } from './served-keys.ts'

/** What the service throws where the request does not reach a key. */
class Outage extends Error {
  readonly fault: KeyServiceFault
  constructor(fault: KeyServiceFault) {
    super(fault)
    this.fault = fault
  }
}

/** A fault: members in place of those of the calls, or of the provider. */
interface Fault {
  readonly service?: (service: KeyService, keys: ServedKeys) => Partial<KeyService>
  readonly provider?: (provider: KeyProvider) => Partial<KeyProvider>
}

const LIMITS = { callTimeoutMs: 60, openTimeoutMs: 400 }
const SLOW_MS = 15

/** A service in memory with a control. */
export function memoryKeys({ service: ofService, provider: ofProvider }: Fault = {}): KeysUnderTest {
  let keys = createServedKeys()
  let requests = 0
  let failing: { readonly fault: KeyServiceFault; calls: number } | undefined
  const reach = async (signal: AbortSignal) => {
    requests++
    const fault = failing !== undefined && failing.calls-- > 0 ? failing.fault : undefined
    if (fault === 'slow') await pause(SLOW_MS)
    else if (fault === 'hanging') await pause(60_000, undefined, { signal })
    else if (fault !== undefined) throw new Outage(fault)
  }
  const sound: KeyService = {
    name: 'The test service',
    async wrap(key, associatedData, signal) {
      await reach(signal)
      return named(keys.seal(key, associatedData))
    },
    async unwrap({ keyId, bytes }, associatedData, signal) {
      await reach(signal)
      return keys.open(bytes, associatedData, Number(keyId.replace('key/', '')))
    },
    async rewrap({ keyId, bytes }, associatedData, signal) {
      await reach(signal)
      return named(keys.seal(keys.open(bytes, associatedData, Number(keyId.replace('key/', ''))), associatedData))
    },
    async currentKeyId(signal) {
      await reach(signal)
      return `key/${keys.current()}`
    },
    failureOf(error) {
      if (error instanceof KeyRefusal) return { kind: error.reason === 'mismatch' ? 'mismatch' : 'refused' }
      if (!(error instanceof Outage)) return { kind: 'unknown' }
      return { kind: error.fault === 'throttled' ? 'throttled' : 'unavailable' }
    },
  }
  const reopen = async () => {
    const provider = serviceKeys({ ...sound, ...ofService?.(sound, keys) }, LIMITS)
    return { ...provider, ...ofProvider?.(provider) }
  }
  return {
    patienceMs: 1000,
    async open() {
      keys = createServedKeys()
      failing = undefined
      return reopen()
    },
    reopen,
    rotate: async () => keys.rotate(),
    disable: async () => keys.setEnabled(false),
    enable: async () => keys.setEnabled(true),
    withdraw: async () => keys.withdraw(),
    async fail(fault, calls = Number.POSITIVE_INFINITY) {
      failing = fault === undefined ? undefined : { fault, calls }
    },
    calls: () => requests,
  }
}

function named({ version, bytes }: { readonly version: number; readonly bytes: Buffer }): WrappedKey {
  return { keyId: `key/${version}`, bytes: Uint8Array.from(bytes) }
}

/** A fault of what failures mean. */
const asKind =
  (isMeant: (error: unknown) => boolean, kind: KeyServiceFailure['kind']): NonNullable<Fault['service']> =>
  (service) => ({ failureOf: (error, task) => (isMeant(error) ? { kind } : service.failureOf(error, task)) })

const isOutage = (fault: KeyServiceFault) => (error: unknown) => error instanceof Outage && error.fault === fault
const isRefusal = (reason: RefusalReason) => (error: unknown) => error instanceof KeyRefusal && error.reason === reason

/** A fault of both ways, and so of wrapping again. */
const ofBoth =
  (change: (service: KeyService) => Pick<KeyService, 'wrap' | 'unwrap'>): NonNullable<Fault['service']> =>
  (service) => {
    const { wrap, unwrap } = change(service)
    const rewrap: KeyService['rewrap'] = async (made, data, signal) => wrap(await unwrap(made, data, signal), data, signal)
    return { wrap, unwrap, rewrap }
  }

/** A fault of unwrapping: what the provider's `unwrap` becomes. */
const ofUnwrap =
  (change: (unwrap: KeyProvider['unwrap']) => KeyProvider['unwrap']): NonNullable<Fault['provider']> =>
  ({ unwrap }) => ({ unwrap: change(unwrap) })

/** A fault of unwrapping: answers are kept by an id, until the next turn of the event loop or for ever. */
const keptBy =
  (idOf: (made: WrappedKey, data: Uint8Array) => string, forEver: boolean, copies: boolean): NonNullable<Fault['provider']> =>
  ({ unwrap }) => {
    const kept = new Map<string, Promise<Uint8Array>>()
    return {
      async unwrap(made, data) {
        const id = idOf(made, data)
        const key = kept.get(id) ?? unwrap(made, data)
        kept.set(id, key)
        const forget = () => setImmediate(() => kept.delete(id))
        key.then(forEver ? undefined : forget, forget)
        return copies ? Uint8Array.from(await key) : key
      },
    }
  }

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const argumentsOf = ({ keyId, bytes }: WrappedKey, data: Uint8Array) => `${keyId} ${hexOf(bytes)} ${hexOf(data)}`
/** The version that sealed bytes name. */
const namedIn = (bytes: Uint8Array) => (bytes.length < 4 ? 0 : Buffer.from(bytes).readUInt32BE())
/** Waits for ever in place of the end of a time limit. */
const waits = (error: unknown) =>
  isVaultError(error, 'unavailable') && String(error.cause).includes('time limit')
    ? new Promise<never>(() => {})
    : Promise.reject(error)

/** Faults that key providers can have. */
export const FAULTS = {
  'a provider unwraps what it wrapped itself alone': {
    provider({ wrap, unwrap }) {
      const own = new Set<string>()
      return {
        async wrap(key, data) {
          const made = await wrap(key, data)
          own.add(hexOf(made.bytes))
          return made
        },
        async unwrap(made, data) {
          if (!own.has(hexOf(made.bytes))) throw new VaultError('failed_precondition', 'It is not known.')
          return unwrap(made, data)
        },
      }
    },
  },
  'zeros at the end of a key are lost': {
    provider: ofUnwrap((unwrap) => async (made, data) => {
      const key = await unwrap(made, data)
      return key.subarray(0, key.findLastIndex((byte) => byte !== 0) + 1)
    }),
  },
  'the key is beside its wrapped bytes': {
    service: ofBoth(({ wrap, unwrap }) => ({
      async wrap(key, data, signal) {
        const { keyId, bytes } = await wrap(key, data, signal)
        return { keyId, bytes: Buffer.concat([bytes, key]) }
      },
      unwrap: ({ keyId, bytes }, data, signal) => unwrap({ keyId, bytes: bytes.subarray(0, -32) }, data, signal),
    })),
  },
  'the memory of a key is kept': {
    provider({ wrap, unwrap }) {
      let kept: Uint8Array | undefined
      return {
        async wrap(key, data) {
          kept = key
          return wrap(key, data)
        },
        async unwrap(made, data) {
          const key = await unwrap(made, data)
          return kept?.every((byte) => byte === 0) ? kept : key
        },
      }
    },
  },
  'callers at the same time share an array': { provider: keptBy(argumentsOf, false, false) },
  'associated data is not authenticated': {
    service: ofBoth(({ wrap, unwrap }) => ({
      wrap: (key, _, signal) => wrap(key, new Uint8Array(), signal),
      unwrap: (made, _, signal) => unwrap(made, new Uint8Array(), signal),
    })),
  },
  'the end of associated data is not authenticated': {
    service: ofBoth(({ wrap, unwrap }) => ({
      wrap: (key, data, signal) => wrap(key, data.subarray(0, 8), signal),
      unwrap: (made, data, signal) => unwrap(made, data.subarray(0, 8), signal),
    })),
  },
  'bytes after the end are ignored': {
    service: ({ unwrap }) => ({
      unwrap: ({ keyId, bytes }, data, signal) => unwrap({ keyId, bytes: bytes.subarray(0, 4 + 12 + 32 + 16) }, data, signal),
    }),
  },
  'the name of the key is ignored': {
    service: ({ unwrap }) => ({
      unwrap: ({ bytes }, data, signal) => unwrap({ keyId: `key/${namedIn(bytes)}`, bytes }, data, signal),
    }),
  },
  'a mismatch is an unknown error': { service: asKind(isRefusal('mismatch'), 'unknown') },
  'each unwrap is a call of its own': {
    provider: ofUnwrap((unwrap) => {
      let zeros = 0
      // The same number, and never the same text.
      return ({ keyId, bytes }, data) => unwrap({ keyId: keyId.replace('key/', `key/${'0'.repeat(++zeros)}`), bytes }, data)
    }),
  },
  'an unwrapped key is kept': { provider: keptBy(argumentsOf, true, true) },
  'unwraps at the same time are one call, whatever they unwrap': { provider: keptBy(() => '', false, true) },
  'a rotated key does not unwrap': {
    service: ({ unwrap }, keys) => ({
      async unwrap(made, data, signal) {
        if (made.keyId !== `key/${keys.current()}`) throw new KeyRefusal('unknown key')
        return unwrap(made, data, signal)
      },
    }),
  },
  'the current key has another name': { service: () => ({ currentKeyId: async () => 'current' }) },
  'the name of the key stays at a rotation': {
    service: (service) => ({
      ...ofBoth(({ wrap, unwrap }) => ({
        wrap: async (key, data, signal) => ({ ...(await wrap(key, data, signal)), keyId: 'key/1' }),
        unwrap: ({ keyId, bytes }, data, signal) =>
          unwrap({ keyId: keyId === 'key/1' ? `key/${namedIn(bytes)}` : keyId, bytes }, data, signal),
      }))(service, createServedKeys()),
      currentKeyId: async () => 'key/1',
    }),
  },
  'bytes stay as they are when they are wrapped again': { service: () => ({ rewrap: async (made) => made }) },
  'a disabled key goes on': {
    service(_, keys) {
      keys.setEnabled = () => {}
      return {}
    },
  },
  'a withdrawn key is unavailable': { service: asKind(isRefusal('withdrawn'), 'unavailable') },
  'a refusal is tried again': {
    provider: ofUnwrap((unwrap) => (made, data) => unwrap(made, data).catch(() => unwrap(made, data))),
  },
  'a throttled call is refused': { service: asKind(isOutage('throttled'), 'refused') },
  'a fault of the service is an unknown error': { service: asKind(isOutage('failing'), 'unknown') },
  'the end of a connection is an unknown error': { service: asKind(isOutage('reset'), 'unknown') },
  'a service that hangs is waited for': {
    provider: ({ wrap, unwrap }) => ({
      wrap: (key, data) => wrap(key, data).catch(waits),
      unwrap: (made, data) => unwrap(made, data).catch(waits),
    }),
  },
  'a slow service is given up': {
    service: ({ unwrap }) => ({
      unwrap: (made, data, signal) =>
        Promise.race([unwrap(made, data, signal), pause(SLOW_MS / 3).then(() => Promise.reject(new Outage('hanging')))]),
    }),
  },
  'what failed once is not tried again': {
    service({ unwrap }) {
      const failed = new WeakSet<WrappedKey>()
      return {
        async unwrap(made, data, signal) {
          if (failed.has(made)) throw new Outage('failing')
          return unwrap(made, data, signal).catch((error) => {
            failed.add(made)
            throw error
          })
        },
      }
    },
  },
} satisfies Record<string, Fault>

/** The name of a fault. */
export type FaultName = keyof typeof FAULTS
