/** Multipart bodies of any parts, cut anywhere, and garbage: the same parts come out, or a refusal. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readMultipart } from '../../../src/http/body/read-multipart.ts'
import type { HttpRequest } from '../../../src/http/router/http-message.ts'
import { VaultError } from '../../../src/index.ts'
import { BOUNDARY, bodyOf, field, file, multipartRequest, UPLOAD } from './multipart-bodies.ts'
import { cut, utf8 } from './requests.ts'

/** Returns what a body holds, or the code of its refusal. Anything else than a `VaultError` passes through. */
async function outcomeOf(request: HttpRequest): Promise<unknown> {
  try {
    const upload = await readMultipart(request, UPLOAD)
    const content: Uint8Array[] = []
    for await (const piece of upload.content) content.push(piece)
    return [upload.fileName, [...upload.fields], Buffer.concat(content).toString('latin1')]
  } catch (error) {
    if (error instanceof VaultError) return error.code
    throw error
  }
}

/** Text that resembles delimiters. */
const PARTS_OF_DELIMITERS = ['\r', '\n', '\r\n', '--', `--${BOUNDARY.slice(0, 9)}`, BOUNDARY, 'x', ':', '"', ';', '\0', '\u00e9']
const contents = fc
  .array(fc.constantFrom(...PARTS_OF_DELIMITERS), { maxLength: 12 })
  .map((pieces) => pieces.join(''))
  .filter((text) => !`\r\n${text}`.includes(`\r\n--${BOUNDARY}`))

const bodies = fc.record({
  table: contents,
  column: contents,
  content: contents,
  id: contents,
  order: fc.shuffledSubarray(['tableName', 'columnName', 'svcID', 'file'], { minLength: 4 }),
})

describe('a body', () => {
  it('has the same parts wherever it is cut in two', async () => {
    const body = bodyOf([
      field('svcID', '\r\n--'),
      file(`\r\n--${BOUNDARY.slice(0, -1)}\r\n\r\n--`, 'ä.pdf'),
      field('tableName', 'persons'),
      field('columnName', ''),
    ])
    const whole = await outcomeOf(multipartRequest(body))
    expect(whole).toHaveLength(3)
    for (let at = 1; at < body.length; at++) {
      const halves = (async function* () {
        yield body.subarray(0, at)
        yield body.subarray(at)
      })()
      expect(await outcomeOf(multipartRequest(halves)), `cut at ${at}`).toEqual(whole)
    }
  })

  it('has the parts that were written, in pieces of any length', async () => {
    await fc.assert(
      fc.asyncProperty(bodies, fc.integer({ min: 1, max: 300 }), async ({ table, column, content, id, order }, length) => {
        const texts: Readonly<Record<string, string>> = { tableName: table, columnName: column, svcID: id }
        const parts = order.map((key) => (key === 'file' ? file(content, 'a.pdf') : field(key, texts[key] ?? '')))
        const fields = order.filter((key) => key !== 'file').map((key) => [key, texts[key]])
        expect(await outcomeOf(multipartRequest(cut(bodyOf(parts), length)))).toEqual([
          'a.pdf',
          fields,
          Buffer.from(content).toString('latin1'),
        ])
      }),
      { numRuns: 500 },
    )
  })

  it('that is changed anywhere has a result or a refusal, and the same one in pieces of any length', async () => {
    const body = bodyOf([field('tableName', 'persons'), field('columnName', 'c'), file('content'), field('svcID', 'i')])
    const added = fc.oneof(
      fc.constantFrom(...PARTS_OF_DELIMITERS, `\r\n--${BOUNDARY}`, `--${BOUNDARY}--`).map(utf8),
      fc.uint8Array({ maxLength: 3 }),
    )
    let refused = 0
    await fc.assert(
      fc.asyncProperty(
        fc.nat(body.length),
        fc.nat(40),
        added,
        fc.integer({ min: 1, max: 50 }),
        async (at, cutOut, bytes, length) => {
          const changed = Buffer.concat([body.subarray(0, at), bytes, body.subarray(at + cutOut)])
          const outcome = await outcomeOf(multipartRequest(changed))
          if (typeof outcome === 'string') refused++
          expect(await outcomeOf(multipartRequest(cut(changed, length)))).toEqual(outcome)
        },
      ),
      { numRuns: 1000 },
    )
    expect(refused).toBeGreaterThan(100)
  })

  it('of garbage is refused', async () => {
    const lexemes = fc.constantFrom(
      ...PARTS_OF_DELIMITERS,
      `--${BOUNDARY}`,
      '\r\n\r\n',
      'Content-Disposition: form-data; name="file"',
      'A: b',
    )
    const garbage = fc.array(fc.oneof(lexemes.map(utf8), fc.uint8Array({ maxLength: 5 })), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(garbage, fc.integer({ min: 1, max: 40 }), async (pieces, length) => {
        const outcome = await outcomeOf(multipartRequest(cut(Buffer.concat(pieces), length)))
        if (typeof outcome !== 'string') expect(outcome).toHaveLength(3)
        else expect(['invalid_request', 'limit_exceeded']).toContain(outcome)
      }),
      { numRuns: 1000 },
    )
  })
})
