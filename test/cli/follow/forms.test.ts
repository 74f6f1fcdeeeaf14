/** Events as OCSF 1.9 and as CEF, read back strictly. */
import { describe, expect, it } from 'vitest'
import { verifyExport } from '../../../src/audit-verifier/verify-export.ts'
import { FORMS } from '../../../src/cli/follow/forms/form.ts'
import type { FollowedEvent } from '../../../src/cli/follow/forms/sealed-event.ts'
import { batchesOf } from '../../support/audit/followed-trail.ts'
import { assertNoPlaintext, openFollowWorld } from '../../support/cli/follow-world.ts'
import { CLERK } from '../../support/vaults/test-vault.ts'

/** Events of every outcome: successes, a refusal with characters that forms escape, and a mistake. */
async function followedEvents(): Promise<FollowedEvent[]> {
  const { vault, work } = await openFollowWorld()
  await work(3)
  const request = { ipAddress: '2001:db8::7', origin: 'a=b|c\\d\nEvil: 1' }
  const odd = vault.as({ ...CLERK, actor: 'bo=|\\\r\n日本 CEF:0|x', request, context: { email: 'end@user.example' } })
  await odd.get('clients').catch(() => {})
  await odd.insert('clients', [{ fields: { nothing: 1 } as never }]).catch(() => {})
  const listed = { followAudit: (options?: object) => vault.followAudit({ ...options, listed: true }) }
  return (await batchesOf(listed)).flatMap(({ events }) => events)
}

/** Attributes that the schema requires of API Activity, and their types. Source: OCSF 1.9, base_event and api_activity. */
const REQUIRED = {
  activity_id: expect.any(Number),
  category_uid: 6,
  class_uid: 6003,
  type_uid: expect.any(Number),
  time: expect.any(Number),
  severity_id: expect.any(Number),
  metadata: {
    version: '1.9.0',
    product: { name: 'strongroom', vendor_name: 'strongroom' },
    profiles: ['record_integrity', 'trace'],
  },
  actor: { user: { uid: expect.any(String), type_id: expect.any(Number) } },
  api: { operation: expect.any(String) },
  src_endpoint: expect.any(Object),
  attestation: {
    chain_uid: expect.any(String),
    fingerprint: { algorithm_id: 3, value: expect.stringMatching(/^[0-9a-f]{64}$/) },
  },
}

describe('OCSF', () => {
  it('has what the schema requires, and the chain as its attestation', async () => {
    const events = await followedEvents()
    const written = events.map((event) => JSON.parse(FORMS.ocsf.write(event).text))
    for (const one of written) {
      expect(one).toMatchObject(REQUIRED)
      expect(one.type_uid).toBe(one.class_uid * 100 + one.activity_id)
    }
    expect(written.map(({ activity_id }) => activity_id)).toEqual([1, 1, 2, 2, 1])
    expect(written.map(({ status_id, severity_id }) => [status_id, severity_id])).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
      [2, 3],
      [2, expect.any(Number)],
    ])
    const [first, second] = written
    expect(first.attestation.prev_event).toBeUndefined()
    expect(second.attestation.prev_event).toEqual({ uid: first.metadata.uid, fingerprint: first.attestation.fingerprint })
    expect(first.resources).toEqual([
      { type: 'TABLE', uid: 'clients' },
      { type: 'RECORD', uid: expect.stringMatching(/^[0-9a-f-]{36}$/) },
    ])
    expect(written[3].src_endpoint).toEqual({ ip: '2001:db8::7' })
    assertNoPlaintext(JSON.stringify(written))
  })

  it('has the lines of the verifier', async () => {
    const events = await followedEvents()
    const lines = events.map((event) => {
      const { attestation, raw_data: raw } = JSON.parse(FORMS.ocsf.write(event).text)
      return `{"digest":"${attestation.fingerprint.value}","event":${raw}}`
    })
    expect(lines).toEqual(events.map(({ line }) => line))
    expect((await verifyExport(lines, { delivered: true })).ok).toBe(true)
  })
})

/** Reads CEF strictly: seven fields and pairs, with their escapes. */
function readCef(text: string): { header: string[]; pairs: Record<string, string> } {
  expect(text).not.toMatch(/[\r\n]/)
  const found = /^CEF:0\|((?:(?:\\[\\|]|[^\\|])*\|){6})(.*)$/s.exec(text)
  if (found === null) throw new Error(`no CEF: ${text}`)
  const header = [...(found[1] ?? '').matchAll(/((?:\\[\\|]|[^\\|])*)\|/g)].map(([, field = '']) =>
    field.replaceAll(/\\([\\|])/g, '$1'),
  )
  const pairs: Record<string, string> = {}
  let rest = found[2] ?? ''
  while (rest !== '') {
    const pair = /^([A-Za-z0-9]+)=((?:\\[\\=rn]|[^\\=])*?)(?:$| (?=[A-Za-z0-9]+=))/.exec(rest)
    if (pair === null) throw new Error(`no pair: ${rest}`)
    const [all, name = '', value = ''] = pair
    expect(pairs[name]).toBeUndefined()
    pairs[name] = value.replaceAll(/\\([\\=rn])/g, (_, one: string) => ({ r: '\r', n: '\n' })[one] ?? one)
    rest = rest.slice(all.length)
  }
  return { header, pairs }
}

describe('CEF', () => {
  it('is read back, with what needs escapes', async () => {
    const events = await followedEvents()
    const written = events.map((event) => readCef(FORMS.cef.write(event).text))
    expect(written[0]?.header).toEqual(['strongroom', 'strongroom', expect.any(String), 'INSERT', 'INSERT success', '2'])
    expect(written[3]?.header.slice(3)).toEqual(['GET', 'GET failure', '6'])
    expect(written[3]?.pairs).toMatchObject({
      suid: 'bo=|\\\r\n日本 CEF:0|x',
      suser: 'end@user.example',
      c6a2: '2001:db8::7',
      act: 'GET',
      outcome: 'failure',
      cn1: '401',
    })
    expect(written.map(({ pairs }) => [pairs.cs1, pairs.cn3])).toEqual(
      events.map(({ line, sequence }) => [line.slice(11, 75), String(sequence)]),
    )
    assertNoPlaintext(JSON.stringify(written))
  })
})
