/** Calls that begin before a rotation and end after it, with the key before destroyed: uploads, downloads, cursors, tickets, transactions. */
import { expect, it } from 'vitest'
import { bytesOf } from '../../support/files/open-file-vault.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import type { Place } from '../../support/storages/places.ts'
import { fillRotating, leftBehind, missingIn, openRotating } from '../../support/vaults/rotating-vault.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

/** A process whose calls span a rotation that another one does. */
async function scene(place: Place) {
  const [vault, other] = [await openRotating(place.open()), await openRotating(place.open())]
  const filled = await fillRotating(vault, 60)
  const rotate = async (): Promise<void> => {
    const { version } = await other.rotateKeys()
    await other.destroyKey(version - 1)
  }
  const check = async () => {
    for (const one of [vault, other]) expect([...(await leftBehind(one)), ...(await missingIn(one, filled))]).toEqual([])
  }
  return { vault, other, filled, session: vault.as(OWNER), rotate, check }
}

const LONG = Buffer.alloc(3 * 1024 * 1024, 'content ')

onEachStorage('a call that spans a rotation', (engine) => {
  it('uploads, and downloads what was uploaded before', async () => {
    const { session, filled, rotate, check } = await scene(engine.fresh())
    const id = filled.ids[1] ?? ''
    async function* content() {
      yield LONG.subarray(0, 1024 * 1024)
      await rotate()
      yield LONG.subarray(1024 * 1024)
    }
    await session.uploadFile({ table: 'people', column: 'scan', id, file: content(), fileName: 'long.txt' })
    const { stream } = await session.openFile('people', id, 'scan')
    const parts: Uint8Array[] = []
    for await (const part of stream) {
      if (parts.length === 0) await rotate()
      parts.push(part)
    }
    expect(Buffer.concat(parts).equals(LONG)).toBe(true)
    await check()
  })

  it('walks pages, of which each begins where the one before ended', async () => {
    const { session, filled, rotate, check } = await scene(engine.fresh())
    const seen: string[] = []
    for await (const { records } of session.pages('people', { limit: 20 })) {
      seen.push(...records.map(({ id }) => id))
      if (seen.length <= 40) await rotate()
    }
    expect(seen.sort()).toEqual([...filled.ids].sort())
    await check()
  })

  it('opens the ticket of a process that rotated, and one from before until its key is destroyed', async () => {
    const { vault, other, filled, session, rotate, check } = await scene(engine.fresh())
    const id = filled.ids[0] ?? ''
    const early = await session.downloadTicket('people', id, 'scan')
    await other.rotateKeys()
    const late = await other.as(OWNER).downloadTicket('people', id, 'scan')
    for (const { ticket } of [early, late])
      expect((await bytesOf((await vault.downloadWithTicket(ticket)).stream)).toString()).toBe('content of a file')
    await other.destroyKey(2)
    await rotate()
    await expect(other.downloadWithTicket(early.ticket)).rejects.toMatchObject({ code: 'not_found' })
    await check()
  })
})

onEachStorage('a transaction that spans the wish to rotate', (engine) => {
  it('ends first or runs again, and nothing of it is under the key before', async () => {
    const { vault, other, filled, check } = await scene(engine.fresh())
    let begin = (): void => {}
    // Outside of the transaction, as another process is.
    const rotating = new Promise<void>((resolve) => {
      begin = resolve
    }).then(() => other.rotateKeys())
    await vault.transaction(async (within) => {
      await within.as(OWNER).updateOne('people', filled.ids[2] ?? '', { city: 'Rome' })
      begin()
      await new Promise((wake) => setTimeout(wake, 300))
      await within.as(OWNER).insertOne('others', { a: 'inside' })
    })
    await rotating
    const { records } = await vault.as(OWNER).get('others')
    expect(records.map(({ fields }) => fields.a).sort()).toEqual(['inside', 'one'])
    expect((await vault.as(OWNER).getOne('people', filled.ids[2] ?? '')).fields.city).toBe('Rome')
    await check()
  })
})
