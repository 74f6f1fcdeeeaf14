/** Callbacks, signers and options that are something else: the methods of a vault say what to pass, and quote nothing. */
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { verifyExport } from '../../../src/audit-verifier/index.ts'
import { openClients } from '../../support/audit/audited-clients.ts'

const CANARY = 'Quetzalcoatl'

function fail(): never {
  throw new Error(CANARY)
}

async function errorOf(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call()
  } catch (error) {
    return error
  }
}

const NULL_OPTIONS: ReadonlySet<string> = new Set([
  'sink must be a function',
  'signer must be a signer',
  'onProgress must be a function',
])

/** An option that is null is refused by the one rule for options. */
function problemOf(wrong: unknown, message: string): string {
  return wrong === null && NULL_OPTIONS.has(message) ? 'must not be null' : message
}

describe('something else than a function, a signer or options', () => {
  it('gives invalid_request that says what to pass', async () => {
    const vault = await openClients(memoryStorage())
    const signer = { keyId: 'k', sign: async () => new Uint8Array(64) }
    for (const wrong of [CANARY, 5, null, {}, []] as never[]) {
      const calls: Readonly<Record<string, () => Promise<unknown>>> = {
        'transaction must be a function': () => vault.transaction(wrong),
        'sink must be a function': () => vault.checkpointAudit({ signer, sink: wrong }),
        'signer must be a signer': () => vault.checkpointAudit({ signer: wrong }),
        'must be a': () => vault.checkpointAudit(wrong),
        'signer must be a signer, such': () => vault.checkpointAudit({ signer: { ...signer, keyId: wrong } }),
        'onProgress must be a function': () => vault.verifyRecords({ onProgress: wrong }),
        'checkpoints[0] is not a checkpoint': () => verifyExport([], { checkpoints: [wrong] }),
      }
      for (const [message, call] of Object.entries(calls)) {
        // A key id is text.
        if (message.endsWith('such') && typeof wrong === 'string') continue
        const error = await errorOf(call)
        expect(error, message).toMatchObject({
          name: 'VaultError',
          code: 'invalid_request',
          message: expect.stringContaining(problemOf(wrong, message)),
        })
        expect(inspect(error, { depth: 8 }), message).not.toContain(CANARY)
      }
    }
    const unlisted = [CANARY, 5, null, {}, undefined] as never[]
    for (const wrong of unlisted) await expect(verifyExport(wrong)).rejects.toMatchObject({ code: 'invalid_request' })
    for (const wrong of [...unlisted.slice(0, 4), new Proxy([], { get: fail })] as never[]) {
      await expect(verifyExport([], { keys: wrong })).rejects.toMatchObject({ code: 'invalid_request' })
      await expect(verifyExport([], { checkpoints: wrong })).rejects.toMatchObject({ code: 'invalid_request' })
      if (wrong !== null)
        await expect(vault.verifyAudit({ checkpoints: wrong })).rejects.toMatchObject({ code: 'invalid_request' })
    }
    expect(await verifyExport([{ toString: fail } as never])).toMatchObject({ ok: false, firstFailure: { line: 1 } })
    expect(await vault.transaction(async () => 'fine')).toBe('fine')
    expect(await vault.checkpointAudit({ signer, sink: undefined } as never)).toMatchObject({ keyId: 'k' })
  })
})
