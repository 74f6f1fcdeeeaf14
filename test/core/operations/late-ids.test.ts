/** Uploads whose record is known only after their content. */
import { expect, it } from 'vitest'
import { bytesOf, openFileVault, pngOf } from '../../support/files/open-file-vault.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const CONTENT = Buffer.from('a paper about files')
const UNKNOWN_ID = '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11'
const POLICY = {
  swede: ["ALLOW READ, UPDATE ON people.* WITH REDACTION = PLAIN_TEXT WHERE country = 'SE'"],
  reader: ['ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT'],
  creator: ['ALLOW CREATE ON people.*'],
} as const

onEachStorage('an upload with a late id', (engine) => {
  async function open() {
    const vault = await openFileVault(engine.fresh().open(), { policy: POLICY })
    const steps: string[] = []
    const upload = (askId: () => Promise<unknown>, role = 'VAULT_OWNER', column = 'paper', file: Uint8Array = CONTENT) => {
      steps.length = 0
      const source = (async function* () {
        steps.push('content')
        yield file
        steps.push('end')
      })()
      const id = async (): Promise<string> => {
        steps.push('id')
        return (await askId()) as string // Anything can arrive at run time.
      }
      return vault.vault.as({ ...OWNER, roles: [role] }).perform('uploadFile', { table: 'people', column, file: source, id })
    }
    const kept = async () => [await vault.fileRows(), vault.blobs.stored.size]
    return { ...vault, steps, upload, kept }
  }

  it('asks for the id after the content was read, and once', async () => {
    const { upload, steps, person, session } = await open()
    const id = await person()
    expect(await upload(async () => id)).toEqual({ id })
    expect(steps).toEqual(['content', 'end', 'id'])
    expect((await bytesOf((await session.openFile('people', id, 'paper')).stream)).equals(CONTENT)).toBe(true)
  })

  it('makes a new record without an id', async () => {
    const { upload, session } = await open()
    for (const none of [undefined, '']) {
      const { id } = await upload(async () => none)
      expect((await session.getOne('people', id, { fields: ['name'] })).fields).toEqual({ name: null })
    }
    expect(await upload(async () => undefined, 'creator')).toMatchObject({ id: expect.any(String) })
  })

  it('keeps nothing if the record is unknown, hidden or not writable, or if the id never comes', async () => {
    const { upload, steps, person, kept } = await open()
    const [swede, dane] = [await person('SE'), await person('DK')]
    const before = await kept()
    const refused: [() => Promise<unknown>, string, string][] = [
      [async () => UNKNOWN_ID, 'VAULT_OWNER', 'not_found'],
      [async () => 5, 'VAULT_OWNER', 'not_found'],
      [async () => dane, 'swede', 'not_found'],
      [async () => undefined, 'swede', 'forbidden'],
      [async () => swede, 'creator', 'forbidden'],
      [() => Promise.reject(new Error('TEST_SECRET')), 'VAULT_OWNER', 'cancelled'],
    ]
    for (const [askId, role, code] of refused) {
      const error: unknown = await upload(askId, role).catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({ name: 'VaultError', code, message: expect.stringMatching(/^Upload failed\. /) })
      expect(String(Reflect.get(Object(error), 'cause'))).not.toContain('TEST_SECRET')
      expect(steps).toEqual(['content', 'end', 'id'])
      expect(await kept()).toEqual(before)
    }
    expect(await upload(async () => swede, 'swede')).toEqual({ id: swede })
  })

  it('is refused before its content is read without any grant for the column', async () => {
    const { upload, steps, kept } = await open()
    const before = await kept()
    for (const [role, column, code] of [
      ['reader', 'paper', 'forbidden'],
      ['creator', 'unknown', 'invalid_request'],
      ['VAULT_OWNER', 'name', 'unprocessable'],
    ] as const) {
      await expect(upload(async () => UNKNOWN_ID, role, column)).rejects.toMatchObject({ code })
      expect(steps).toEqual([])
    }
    await expect(upload(async () => UNKNOWN_ID, 'VAULT_OWNER', 'photo', CONTENT)).rejects.toMatchObject({ code: 'unprocessable' })
    expect(steps).not.toContain('id')
    expect(await kept()).toEqual(before)
    expect(await upload(async () => '', 'VAULT_OWNER', 'photo', pngOf(100))).toMatchObject({ id: expect.any(String) })
  })
})
