/** Tickets: one file, one direction, fifteen minutes, the grants of who asked for it, and one answer for all that are not valid. */
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import type { Caller, Session } from '../../../src/index.ts'
import {
  bytesOf,
  type FileTables,
  type FileVault,
  openFileVault,
  pngOf,
  scriptedScanner,
} from '../../support/files/open-file-vault.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const CONTENT = Buffer.alloc(1000, 'content ')
const MINUTES = 60_000
const INVALID = { code: 'not_found', httpStatus: 404, details: [] }
const SENTENCE = 'This ticket is not valid, or not any more. Ask for a new one.'
const POLICY = {
  reader: ['ALLOW READ ON people.paper WITH REDACTION = PLAIN_TEXT'],
  masked: ['ALLOW READ ON people.* WITH REDACTION = MASKED'],
  uploader: ['ALLOW UPDATE ON people.photo', 'ALLOW READ ON people.name'],
  creator: ['ALLOW CREATE ON people.paper'],
  once: ['ALLOW UPDATE ON people.paper WHERE people.paper IS NULL'],
  swede: ["ALLOW READ, UPDATE ON people.* WITH REDACTION = PLAIN_TEXT WHERE people.country = 'SE'"],
} as const

onEachStorage('file tickets', (engine) => {
  const open = (options = {}): Promise<FileVault> => openFileVault(engine.fresh().open(), { policy: POLICY, ...options })
  const as = ({ vault }: FileVault, role: keyof typeof POLICY): Session<FileTables> => {
    const caller: Caller = { actor: `${role}@acme.example`, actorType: 'USER', roles: [role] }
    return vault.as(caller)
  }
  const withPaper = async (vault: FileVault): Promise<string> => {
    const id = await vault.person()
    await vault.session.uploadFile({ table: 'people', id, column: 'paper', file: CONTENT, fileName: 'paper.txt' })
    return id
  }
  const download = async ({ vault }: FileVault, ticket: string) => bytesOf((await vault.downloadWithTicket(ticket)).stream)

  it('open the last bytes, and no range that mixes both forms or has no bytes', async () => {
    const vault = await open()
    const { ticket } = await vault.session.downloadTicket('people', await withPaper(vault), 'paper')
    const { stream } = await vault.vault.downloadWithTicket(ticket, { range: { last: 8 } })
    expect((await bytesOf(stream)).equals(CONTENT.subarray(-8))).toBe(true)
    for (const range of [{ last: 0 }, { last: -1 }, { last: 1.5 }, { last: 1, start: 0 }, { last: 1, end: 2 }]) {
      await expect(vault.vault.downloadWithTicket(ticket, { range })).rejects.toMatchObject({ code: 'out_of_range' })
    }
  })

  it('are recorded with the request that uses them', async () => {
    const vault = await open()
    const id = await withPaper(vault)
    const { ticket } = await vault.session.downloadTicket('people', id, 'paper')
    const { tickets } = await vault.session.uploadTicket({ table: 'people', id, columns: ['paper'] })
    await vault.vault.downloadWithTicket(ticket, {}, { requestID: 'request-1', ipAddress: '192.0.2.1' })
    await vault.vault.uploadWithTicket(tickets.paper.ticket, { file: CONTENT }, { requestID: 'request-2' })
    await expect(vault.vault.downloadWithTicket('x', {}, { requestID: 'request-3' })).rejects.toMatchObject(INVALID)
    const { events } = await vault.session.listEvents({ filterOps: { accountID: 'v1' } })
    const found = ['request-1', 'request-2', 'request-3'].map((requestID) =>
      events.filter(({ context }) => context.requestID === requestID).map(({ context }) => [context.actor, context.ipAddress]),
    )
    expect(found).toEqual([[[OWNER.actor, '192.0.2.1']], [[OWNER.actor, '']], [['unknown', '']]])
  })

  it('download the file for fifteen minutes, as the caller who asked for them', async () => {
    const vault = await open()
    const id = await withPaper(vault)
    const { ticket, expiresAt } = await as(vault, 'reader').downloadTicket('people', id, 'paper')
    expect(expiresAt).toBe(vault.clock.ms + 15 * MINUTES)
    expect(ticket).toMatch(/^[A-Za-z0-9_-]+$/)
    expect((await download(vault, ticket)).equals(CONTENT)).toBe(true)
    const part = await vault.vault.downloadWithTicket(ticket, { range: { start: 8, end: 15 } })
    expect((await bytesOf(part.stream)).toString()).toBe('content')
    vault.clock.ms += 15 * MINUTES - 1
    expect((await download(vault, ticket)).equals(CONTENT)).toBe(true)
    vault.clock.ms += 1
    await expect(download(vault, ticket)).rejects.toMatchObject(INVALID)
    const { events } = await vault.session.listEvents({ filterOps: { accountID: 'v1', actionType: 'OPEN_FILE' } })
    expect(events.map(({ context, response }) => [context.actor, response.code])).toEqual([
      ['unknown', 404],
      ['reader@acme.example', 200],
      ['reader@acme.example', 200],
      ['reader@acme.example', 200],
    ])
  })

  it('that are altered, of another direction or vault, or of a file that is gone get one answer', async () => {
    const vault = await open()
    const other = await open()
    const id = await withPaper(vault)
    const otherId = await withPaper(other)
    const { ticket } = await vault.session.downloadTicket('people', id, 'paper')
    const { tickets } = await vault.session.uploadTicket({ table: 'people', id, columns: ['photo'] })
    const foreign = await other.session.downloadTicket('people', otherId, 'paper')
    const middle = ticket.length >> 1
    const altered = `${ticket.slice(0, middle)}${ticket[middle] === 'A' ? 'B' : 'A'}${ticket.slice(middle + 1)}`
    const texts = [
      '',
      'x',
      '%',
      ticket.slice(1),
      `${ticket}A`,
      altered,
      tickets.photo.ticket,
      'A'.repeat(100_000),
      undefined,
      {},
      null,
    ]
    if (engine.name !== 'memory') texts.push(foreign.ticket)
    const messages = new Set<string>()
    for (const text of texts) {
      await vault.vault.downloadWithTicket(text as string).then(
        () => expect.fail('a ticket that is not valid was accepted'),
        (error: Error) => messages.add(error.message),
      )
    }
    const { ticket: second } = await vault.session.downloadTicket('people', id, 'paper')
    await vault.session.uploadFile({ table: 'people', id, column: 'paper', file: CONTENT.subarray(1) })
    for (const old of [ticket, second])
      await vault.vault.downloadWithTicket(old).catch((error: Error) => messages.add(error.message))
    const { ticket: third } = await vault.session.downloadTicket('people', id, 'paper')
    await vault.session.delete('people', [id])
    await vault.vault.downloadWithTicket(third).catch((error: Error) => messages.add(error.message))
    expect([...messages]).toEqual([`Open file failed. ${SENTENCE}`])
  })

  it('need the grants of the caller when they are issued and when they are redeemed', async () => {
    const vault = await open()
    const id = await withPaper(vault)
    await expect(as(vault, 'masked').downloadTicket('people', id, 'paper')).rejects.toMatchObject({ code: 'forbidden' })
    await expect(as(vault, 'masked').openFile('people', id, 'paper')).rejects.toMatchObject({ code: 'forbidden' })
    await expect(as(vault, 'creator').downloadTicket('people', id, 'paper')).rejects.toMatchObject({ code: 'forbidden' })
    await expect(as(vault, 'reader').uploadTicket({ table: 'people', id, columns: ['paper'] })).rejects.toMatchObject({
      code: 'forbidden',
    })
    await expect(as(vault, 'uploader').uploadTicket({ table: 'people', id, columns: ['paper'] })).rejects.toMatchObject({
      code: 'invalid_request',
    })
    const empty = await vault.person()
    await expect(as(vault, 'once').uploadTicket({ table: 'people', id: empty, columns: ['paper'] })).rejects.toMatchObject({
      code: 'forbidden',
    })
    const { ticket } = await as(vault, 'swede').downloadTicket('people', id, 'paper')
    const { tickets } = await as(vault, 'swede').uploadTicket({ table: 'people', id, columns: ['photo'] })
    await vault.session.updateOne('people', id, { country: 'DE' })
    await expect(download(vault, ticket)).rejects.toMatchObject(INVALID)
    await expect(vault.vault.uploadWithTicket(tickets.photo.ticket, { file: pngOf(10) })).rejects.toMatchObject(INVALID)
    expect(vault.blobs.keys()).toHaveLength(1)
  })

  it('upload once, into a record or a new one, and say what is wrong with the content', async () => {
    const vault = await open()
    const id = await vault.person()
    const { tickets } = await as(vault, 'uploader').uploadTicket({ table: 'people', id, columns: ['photo'] })
    const { ticket } = tickets.photo
    const wrong = vault.vault.uploadWithTicket(ticket, { file: CONTENT })
    await expect(wrong).rejects.toMatchObject({ code: 'unprocessable' })
    await expect(vault.vault.uploadWithTicket(ticket, { file: new Uint8Array(0) })).rejects.toMatchObject({
      code: 'unprocessable',
    })
    await expect(vault.vault.uploadWithTicket(ticket, { file: Readable.from(['text']) })).rejects.toMatchObject({
      code: 'invalid_request',
    })
    const file = new File([pngOf(10) as Uint8Array<ArrayBuffer>], 'a.png')
    const stored = await vault.vault.uploadWithTicket(ticket, { file, returnFileMetadata: true })
    expect(stored).toEqual({ id, fileMetadata: { photo: { fileName: 'a.png', fileSizeKB: 1, fileType: 'image/png' } } })
    await expect(vault.vault.uploadWithTicket(ticket, { file: pngOf(20) })).rejects.toMatchObject(INVALID)
    await vault.session.deleteFile('people', id, 'photo')
    await expect(vault.vault.uploadWithTicket(ticket, { file: pngOf(20) })).rejects.toMatchObject(INVALID)
    const created = await as(vault, 'creator').uploadTicket({ table: 'people', columns: ['paper'] })
    const record = await vault.vault.uploadWithTicket(created.tickets.paper.ticket, { file: CONTENT })
    expect((await bytesOf((await vault.session.openFile('people', record.id, 'paper')).stream)).equals(CONTENT)).toBe(true)
    await expect(vault.vault.uploadWithTicket(created.tickets.paper.ticket, { file: CONTENT })).rejects.toMatchObject(INVALID)
    vault.clock.ms += 15 * MINUTES
    await vault.vault.sweep()
    await expect(vault.vault.uploadWithTicket(created.tickets.paper.ticket, { file: CONTENT })).rejects.toMatchObject(INVALID)
    expect(await vault.fileRows()).toBe(1)
  })

  it('are not issued when the caller is too long for one that could be redeemed', async () => {
    const vault = await open()
    const id = await withPaper(vault)
    const context = { note: 'n'.repeat(16_000), nested: { list: [1, null, { deep: true }] } }
    const ticketOf = (length: number) => {
      const roles = [...OWNER.roles, ...Array.from({ length }, (_, index) => String(index).padEnd(128, '語'))]
      return vault.vault.as({ ...OWNER, roles, context }).downloadTicket('people', id, 'paper')
    }
    const { ticket } = await ticketOf(80)
    expect((await download(vault, ticket)).equals(CONTENT)).toBe(true)
    await expect(ticketOf(99)).rejects.toMatchObject({ code: 'limit_exceeded' })
  })

  it('do not open a file that is not clean, whatever it was when they were issued', async () => {
    const storage = engine.fresh().open()
    const before = await openFileVault(storage)
    const id = await withPaper(before)
    const { ticket } = await before.session.downloadTicket('people', id, 'paper')
    const scanning = await openFileVault(storage, { blobs: before.blobs, scanner: scriptedScanner(() => 'infected') })
    await expect(download(scanning, ticket)).rejects.toMatchObject(INVALID)
    await scanning.vault.scanFiles()
    await expect(download(before, ticket)).rejects.toMatchObject(INVALID)
  })
})
