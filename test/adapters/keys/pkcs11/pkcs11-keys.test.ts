/** Root keys wrapped by a real PKCS#11 token: the conformance suite, keys that replace others, and what a token cannot do. */
import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Pkcs11KeysOptions, pkcs11Keys } from '../../../../src/adapters/keys/pkcs11/index.ts'
import { keyProviderCases } from '../../../../src/conformance/keys/index.ts'
import { dataOf, rootKey } from '../../../../src/conformance/keys/sample.ts'
import { missingForTokens, PIN, SOFT_HSM, type SoftToken, softTokens } from '../../../support/key-services/soft-token.ts'

const missing = missingForTokens()
if (missing !== undefined) console.log(`The tests with a PKCS#11 token are skipped. ${missing}`)

describe.skipIf(missing !== undefined)('the keys of a PKCS#11 token (skipped where there is none)', () => {
  let tokens: ReturnType<typeof softTokens>
  beforeAll(() => {
    tokens = softTokens()
  })
  afterAll(() => tokens?.discard())

  const keysOf = (token: Pick<SoftToken, 'label'>, options: Partial<Pkcs11KeysOptions> = {}) =>
    pkcs11Keys({ module: SOFT_HSM ?? '', tokenLabel: token.label, pin: PIN, keyLabel: 'pii', ...options })
  const newToken = () => {
    const token = tokens.create()
    token.makeKey('pii')
    return token
  }

  it.each(keyProviderCases)('$name', async ({ needs, run }) => {
    const token = newToken()
    const control = {
      open: async () => keysOf(token),
      reopen: async () => keysOf(token),
      disable: async () => token.renameKey('pii', 'disabled'),
      enable: async () => token.renameKey('disabled', 'pii'),
      withdraw: async () => token.deleteKey('pii'),
    }
    if (needs.every((need) => need in control)) await run(control)
  })

  it('refuse', async () => {
    const token = newToken()
    const wrong = keysOf(token, { pin: 'wrong' })
    await expect(wrong.wrap(rootKey(), dataOf())).rejects.toMatchObject({
      code: 'failed_precondition',
      cause: { message: 'PKCS#11 reported 0xa0' },
    })
    void spawnSync
  })
})
