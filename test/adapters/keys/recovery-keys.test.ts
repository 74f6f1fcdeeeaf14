/** Recovery keys: a vault whose key-encryption key is lost opens with a private key that was kept offline. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { localKeys, recoverableKeys, recoveryKeys } from '../../../src/adapters/keys/index.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { KeyProvider } from '../../../src/core/ports/crypto.ts'
import { column, createVault, defineSchema, isVaultError } from '../../../src/index.ts'
import { type DisposableKeys, runKeyCases, runVaultOnKeys } from '../../support/keys/run-key-cases.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const AAD = Buffer.from('vault v1, root 1')
const ROOT = Uint8Array.from(randomBytes(32))
const schema = defineSchema({ notes: { text: column.string({ redaction: 'PLAIN_TEXT', unique: true }) } })

/** A new pair of keys in PEM. */
function pair(): { readonly publicKey: string; readonly privateKey: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ml-kem-768')
  return {
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

const newKey = (): string => randomBytes(32).toString('base64')

/** A provider with a key that is never seen again. */
const daily = (): KeyProvider => localKeys({ key: newKey() })

/** Providers of a ring of keys and a recipient. Each rotation puts a new key first. */
function ring(): DisposableKeys {
  let first = newKey()
  let older: string[] = []
  const now = (): KeyProvider => localKeys({ key: first, olderKeys: older })
  const keys: KeyProvider = {
    currentKeyId: async () => now().currentKeyId?.() ?? '',
    wrap: (key, associatedData) => now().wrap(key, associatedData),
    unwrap: (wrapped, associatedData) => now().unwrap(wrapped, associatedData),
  }
  const reopen = async (): Promise<KeyProvider> => recoverableKeys({ keys, recipients: [RECIPIENT.publicKey] })
  return {
    open: reopen,
    reopen,
    async rotate() {
      older = [first, ...older]
      first = newKey()
    },
    async disableOlder() {
      older = []
    },
  }
}

const RECIPIENT = pair()
runKeyCases('recoverable', ring)
runVaultOnKeys('recoverable keys', ring)

const open = (storage: ReturnType<typeof memoryStorage>, keys: KeyProvider) => createVault({ id: 'v1', schema, storage, keys })

async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  const error = await work.then(() => undefined).catch((caught: unknown) => caught)
  return isVaultError(error) ? error.code : String(error)
}

describe('a wrapped root key', () => {
  const [one, two, other] = [pair(), pair(), pair()]
  const keys = daily()
  const recoverable = recoverableKeys({ keys, recipients: [one.publicKey, two.publicKey] })

  it('is unwrapped by the provider, and by each private key alone, in arrays of their own', async () => {
    const wrapped = await recoverable.wrap(ROOT, AAD)
    expect(wrapped.bytes.length).toBe(1 + 2 * (16 + 1088 + 72) + 72)
    expect(await recoverable.unwrap(wrapped, AAD)).toEqual(ROOT)
    for (const { privateKey } of [one, two]) {
      const root = await recoveryKeys({ privateKey, keys: daily() }).unwrap(wrapped, AAD)
      expect(root).toEqual(ROOT)
      expect(root.buffer.byteLength).toBe(32)
    }
  })

  it('is not unwrapped by another private key, under other associated data, or with any changed or missing byte', async () => {
    const wrapped = await recoverable.wrap(ROOT, AAD)
    const recovery = recoveryKeys({ privateKey: two.privateKey, keys: daily() })
    const foreign = recoveryKeys({ privateKey: other.privateKey, keys: daily() })
    expect(await codeOf(foreign.unwrap(wrapped, AAD))).toBe('failed_precondition')
    expect(await codeOf(recovery.unwrap(wrapped, Buffer.from('vault v2, root 1')))).toBe('failed_precondition')
    const start = 1 + 16 + 1088 + 72
    for (const at of [
      0,
      start,
      start + 15,
      start + 16,
      start + 600,
      start + 16 + 1087,
      start + 1104,
      start + 1150,
      start + 1175,
    ]) {
      const bytes = Uint8Array.from(wrapped.bytes)
      bytes[at] = (bytes[at] ?? 0) ^ 1
      expect(await codeOf(recovery.unwrap({ ...wrapped, bytes }, AAD)), `byte ${at}`).toBe('failed_precondition')
    }
    const changed = Uint8Array.from(wrapped.bytes)
    changed[700] = (changed[700] ?? 0) ^ 1
    // Found by every opening, not only when it is needed.
    expect(await codeOf(recoverable.unwrap({ ...wrapped, bytes: changed }, AAD))).toBe('failed_precondition')
    for (const length of [0, 1, 100, start + 1175])
      expect(await codeOf(recovery.unwrap({ ...wrapped, bytes: wrapped.bytes.subarray(0, length) }, AAD))).toBe(
        'failed_precondition',
      )
  })

  it('of one wrap and the next differ in every part, and the name of the key says who else can unwrap', async () => {
    const [first, second] = [await recoverable.wrap(ROOT, AAD), await recoverable.wrap(ROOT, AAD)]
    for (const at of [1 + 16, 1 + 16 + 1088]) expect(first.bytes.slice(at, at + 24)).not.toEqual(second.bytes.slice(at, at + 24))
    expect(await recoverable.currentKeyId?.()).toBe(first.keyId)
    const turned = recoverableKeys({ keys, recipients: [two.publicKey, one.publicKey] })
    expect(await turned.currentKeyId?.()).toBe(first.keyId)
    const fewer = recoverableKeys({ keys, recipients: [one.publicKey] })
    expect(await fewer.currentKeyId?.()).not.toBe(first.keyId)
    expect(await recoverableKeys({ keys, recipients: [] }).currentKeyId?.()).toBe(await keys.currentKeyId?.())
  })
})

describe('a vault', () => {
  it('whose key is lost opens with the private key, and after rewrapKeys with the new key alone', async () => {
    const { publicKey, privateKey } = pair()
    const storage = memoryStorage()
    const lost = daily()
    const vault = await open(storage, recoverableKeys({ keys: lost, recipients: [publicKey] }))
    await vault.as(OWNER).insert('notes', [{ fields: { text: 'kept' } }])
    await vault.rotateKeys({ settleMs: 0 })
    await vault.close()

    const fresh = daily()
    expect(await codeOf(open(storage, fresh))).toBe('failed_precondition')
    const recovered = await open(storage, recoveryKeys({ privateKey, keys: fresh }))
    expect((await recovered.as(OWNER).get('notes')).records.map(({ fields }) => fields.text)).toEqual(['kept'])
    expect((await recovered.rewrapKeys()).keyIds).toEqual([await fresh.currentKeyId?.()])
    await recovered.rotateKeys({ settleMs: 0 })
    await recovered.close()
    const after = await open(storage, fresh)
    expect((await after.as(OWNER).get('notes')).records.length).toBe(1)
    await after.close()
    // Neither the lost key nor the private key opens it any more.
    expect(await codeOf(open(storage, recoverableKeys({ keys: lost, recipients: [publicKey] })))).toBe('failed_precondition')
    expect(await codeOf(open(storage, recoveryKeys({ privateKey, keys: lost })))).toBe('failed_precondition')
  })

  it('gets, changes and loses its recipients by rewrapKeys', async () => {
    const storage = memoryStorage()
    const keys = daily()
    const [one, two] = [pair(), pair()]
    await (await open(storage, keys)).close()
    const rewrapped = async (...recipients: readonly string[]): Promise<number> => {
      const vault = await open(storage, recoverableKeys({ keys, recipients }))
      const result = await vault.rewrapKeys()
      await vault.close()
      return result.rewrapped
    }
    const recovers = async ({ privateKey }: typeof one): Promise<boolean> => {
      const vault = await open(storage, recoveryKeys({ privateKey, keys: daily() })).catch(() => undefined)
      await vault?.close()
      return vault !== undefined
    }
    expect([await recovers(one), await recovers(two)]).toEqual([false, false])
    expect(await rewrapped(one.publicKey)).toBe(1)
    expect(await rewrapped(one.publicKey)).toBe(0)
    expect([await recovers(one), await recovers(two)]).toEqual([true, false])
    expect(await rewrapped(two.publicKey)).toBe(1)
    expect([await recovers(one), await recovers(two)]).toEqual([false, true])
    expect(await rewrapped()).toBe(1)
    expect([await recovers(one), await recovers(two)]).toEqual([false, false])
    await (await open(storage, keys)).close()
  })
})

it('keys of another kind, a private key as recipient, and other providers are refused without quoting them', () => {
  const { publicKey, privateKey } = pair()
  const signing = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const keys = daily()
  for (const recipient of [signing, privateKey, '', 'secret text', 7 as unknown as string]) {
    const make = (): KeyProvider => recoverableKeys({ keys, recipients: [publicKey, recipient] })
    expect(make).toThrow('recoverableKeys: recipients[1] must be an ML-KEM-768 public key')
    expect(make).not.toThrow(/secret text|MII|MCow/)
  }
  for (const wrong of [publicKey, signing, '', undefined as unknown as string])
    expect(() => recoveryKeys({ privateKey: wrong, keys })).toThrow(
      'recoveryKeys: `privateKey` must be an ML-KEM-768 private key',
    )
  expect(() => recoverableKeys({ keys, recipients: new Array(9).fill(publicKey) })).toThrow('at most 8')
  expect(() => recoverableKeys({ keys: {} as KeyProvider, recipients: [publicKey] })).toThrow('must be a key provider')
  expect(() => recoveryKeys({ keys: undefined as unknown as KeyProvider, privateKey })).toThrow('must be a key provider')
})
