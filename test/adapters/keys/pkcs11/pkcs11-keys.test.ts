/** Root keys wrapped by a real PKCS#11 token: the conformance suite, keys that replace others, and what a token refuses. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import type { KeyProvider } from '../../../../src/adapters/keys/index.ts'
import { type Pkcs11KeysOptions, pkcs11Keys } from '../../../../src/adapters/keys/pkcs11/index.ts'
import { dataOf, rootKey } from '../../../../src/conformance/keys/sample.ts'
import { type DisposableKeys, runKeyCases, runVaultOnKeys } from '../../../support/keys/run-key-cases.ts'
import { HANG_MS, missingForTokens, PIN, SOFT_HSM, type SoftToken, softTokens } from '../../../support/keys/soft-token.ts'

const KEY = 'pii'
/** Below the five seconds for which a call hangs; a thread that opens the library on a busy machine takes two. */
const LIMITS = { callTimeoutMs: 4000, openTimeoutMs: 12_000 }

const missing = missingForTokens()
if (missing !== undefined) console.log(`The tests with a PKCS#11 token are skipped. ${missing}`)

describe.skipIf(missing !== undefined)('a PKCS#11 token (skipped where there is none)', () => {
  const tokens = missing === undefined ? softTokens() : undefined
  const opened: KeyProvider[] = []
  // SoftHSM2 sees a token that was made later only when nothing in the process has its library open.
  afterEach(async () => void (await Promise.all(opened.splice(0).map((keys) => keys.close?.()))))
  afterAll(() => tokens?.discard())

  function createToken(): SoftToken {
    const token = tokens?.create()
    if (token === undefined) throw new Error('no tokens')
    token.makeKey(KEY)
    return token
  }
  function keysOf({ label }: Pick<SoftToken, 'label'>, options: Partial<Pkcs11KeysOptions> = {}): KeyProvider {
    const given = { module: SOFT_HSM ?? '', tokenLabel: label, pin: PIN, keyLabel: KEY }
    const keys = pkcs11Keys({ ...given, ...LIMITS, ...options })
    opened.push(keys)
    return keys
  }

  function setup(): DisposableKeys {
    const token = createToken()
    const { faulty } = tokens ?? {}
    const open = async () => keysOf(token, faulty === undefined ? {} : { module: faulty.module })
    let hasHung = false
    return {
      ...(faulty === undefined
        ? {}
        : {
            calls: faulty.calls,
            fail(kind, calls) {
              hasHung ||= kind === 'hanging'
              return faulty.fail(kind, calls)
            },
          }),
      open,
      reopen: open,
      disable: async () => token.renameKey(KEY, 'disabled'),
      enable: async () => token.renameKey('disabled', KEY),
      withdraw: async () => token.deleteKey(KEY),
      // A thread that hangs keeps the library open.
      discard: async () => (hasHung ? pause(HANG_MS) : undefined),
    }
  }

  runKeyCases('PKCS#11', setup)
  runVaultOnKeys('PKCS#11', setup)

  it('a new key is named by the application, and what the one before wrapped is unwrapped until it is deleted', async () => {
    const token = createToken()
    const before = await keysOf(token).wrap(rootKey(), dataOf())
    token.makeKey('pii-2027')
    const keys = keysOf(token, { keyLabel: 'pii-2027' })
    expect(await keys.currentKeyId?.()).toBe('pii-2027')
    const again = await keys.wrap(await keys.unwrap(before, dataOf()), dataOf())
    expect([before.keyId, again.keyId]).toEqual([KEY, 'pii-2027'])
    token.deleteKey(KEY)
    await expect(keys.unwrap(before, dataOf())).rejects.toMatchObject({ code: 'failed_precondition' })
    expect(await keys.unwrap(again, dataOf())).toEqual(rootKey())
  })

  it('two keys of one label are refused', async () => {
    const token = createToken()
    token.makeKey(KEY)
    await expect(keysOf(token).wrap(rootKey(), dataOf())).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('several keys'),
    })
  })

  it('a wrong PIN is refused, and not tried again: a token locks itself', async () => {
    let asked = 0
    const pin = () => {
      asked++
      return 'wrong'
    }
    await expect(keysOf(createToken(), { pin }).wrap(rootKey(), dataOf())).rejects.toMatchObject({
      code: 'failed_precondition',
      cause: { message: 'PKCS#11 reported 0xa0' },
    })
    expect(asked).toBe(1)
  })

  it('a session is begun again after it was closed', async () => {
    const keys = keysOf(createToken(), { pin: async () => PIN })
    const wrapped = await keys.wrap(rootKey(), dataOf())
    const [first] = await Promise.all([keys.unwrap(wrapped, dataOf()), keys.close?.()])
    expect(first).toEqual(rootKey())
    await keys.close?.()
    expect(await keys.unwrap(wrapped, dataOf())).toEqual(rootKey())
  })

  it('a token that is not there is unavailable, and a file that is not a library is refused', async () => {
    await expect(keysOf({ label: 'another' }).wrap(rootKey(), dataOf())).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('no token has the label another'),
    })
    for (const module of ['/nowhere/library.so', import.meta.filename])
      await expect(keysOf(createToken(), { module }).wrap(rootKey(), dataOf())).rejects.toMatchObject({
        code: 'failed_precondition',
        message: expect.stringContaining('cannot be loaded'),
      })
  })
})

it.each([
  [{ module: '' }, 'module'],
  [{ tokenLabel: 5 }, 'tokenLabel'],
  [{ keyLabel: '' }, 'keyLabel'],
  [{ pin: '' }, 'pin'],
  [{ openTimeoutMs: 0 }, 'openTimeoutMs'],
  [{ other: 1 }, 'other'],
])('wrong options of a token are refused by name %#', (options, name) => {
  const given = { module: '/library.so', tokenLabel: 'vault', pin: '1', keyLabel: 'pii', ...options }
  expect(() => pkcs11Keys(given as never)).toThrow(name)
})
