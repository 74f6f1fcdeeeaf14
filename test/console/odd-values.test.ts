/** Values that a page can draw wrong, in the grid and on the page of their record: each as its level says it is, and text as text. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { UntypedRecord } from '../../src/index.ts'
import { FILE_NAME, MARKUP, openOddVault, SECRET, TEXTS } from '../support/console/odd-vault.ts'
import { CHROMIUM, type OpenedConsole, openConsoleOn, signIn } from '../support/console/open-console.ts'

/** The class of a cell, by row and column: two plain values that look lowered, a masked one, and a redacted one. */
const EXPECTED = { '0-1': 'value', '1-1': 'value', '0-2': 'value value-masked', '0-3': 'value-redacted' }

/** Returns the cells that are not drawn as they should be. */
async function wrongCells(page: Page): Promise<string[]> {
  await page.locator('#cell-0-3 > span:not(.skeleton)').waitFor()
  const wrong: string[] = []
  for (const [place, expected] of Object.entries(EXPECTED))
    if ((await page.locator(`#cell-${place} > span`).first().getAttribute('class')) !== expected) wrong.push(place)
  return wrong
}

describe.skipIf(CHROMIUM === undefined)('odd values', () => {
  let opened: OpenedConsole<'owner' | 'reader'> & { readonly ids: readonly string[] }
  beforeAll(async () => {
    const vault = await openOddVault()
    opened = { ...vault, ...(await openConsoleOn(vault)) }
  })
  afterEach(() => opened?.release())
  afterAll(() => opened?.close())

  it('draws a plain value plain that looks masked or redacted, because the level decides', async () => {
    const { page } = await opened.signedIn('owner', '/tables/odd')
    expect(await wrongCells(page)).toEqual([])
  })

  it('would be found to guess by stars', async () => {
    const { page } = await opened.tab('/tables/odd')
    await page.route('**/get', async (route) => {
      const response = await route.fetch()
      const { records, next } = (await response.json()) as { records: UntypedRecord[]; next?: string }
      const guess = ([name, value]: [string, unknown]) =>
        typeof value === 'string' && value.includes('*') ? [[name, value === '*REDACTED*' ? 'REDACTED' : 'MASKED']] : []
      const guessed = records.map((one) => ({ ...one, levels: Object.fromEntries(Object.entries(one.fields).flatMap(guess)) }))
      await route.fulfill({ response, json: { records: guessed, next } })
    })
    await signIn(page, opened.keys.owner)
    expect(await wrongCells(page)).toEqual(['0-1', '1-1'])
  })

  it('draws markup, right-to-left and long text, JSON, big numbers and empty text as text, and runs nothing', async () => {
    const { page, messages } = await opened.signedIn('owner', '/tables/odd')
    await page.locator('#cell-2-1 .value').waitFor()
    const textAt = (row: number, column: number) => page.locator(`#cell-${row}-${column} > span`).first().textContent()
    expect(await textAt(2, 1)).toBe(MARKUP)
    expect(await page.locator('#cell-3-1 > span').evaluate((cell) => getComputedStyle(cell).direction)).toBe('rtl')
    expect((await textAt(4, 1))?.length).toBeLessThan(400)
    // What shows nothing, or turns what follows, is seen: else two values look alike.
    expect([await textAt(5, 1), await textAt(7, 1)]).toEqual(['empty', 'U+200BU+202ESE'])
    expect(await textAt(0, 4)).toBe('9007199254740993')
    expect(await textAt(0, 5)).toBe('1234567890123456.78')
    expect(JSON.parse((await textAt(0, 9)) ?? '')).toMatchObject({ markup: MARKUP })
    expect(await page.locator('img').count()).toBe(0)
    expect([await page.title(), messages]).toEqual([expect.not.stringContaining('run'), []])
  })

  it('draws all of a long text, and the name of a file, on the page of the record', async () => {
    const { page, messages } = await opened.signedIn('owner', `/tables/odd/${opened.ids[4]}`)
    await page.locator('.record-value .value').first().waitFor()
    expect(await page.locator('.record-value .value').first().textContent()).toBe(TEXTS[4])
    const first = await opened.signedIn('owner', `/tables/odd/${opened.ids[0]}`)
    await first.page.getByText('.pdf').waitFor()
    expect(await first.page.getByText('.pdf').textContent()).toBe(FILE_NAME)
    expect([messages, first.messages]).toEqual([[], []])
  })

  it('shows a reader another table, why it is so, and no byte of what is hidden', async () => {
    const { page, messages, received } = await opened.signedIn('reader', '/tables/odd')
    await page.locator('#cell-0-2 .value').waitFor()
    expect(await page.getByRole('columnheader').allTextContents()).toEqual(
      expect.arrayContaining([expect.stringMatching(/^hidden/)]),
    )
    await page.locator('[role=grid]').focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('w')
    expect(await page.getByRole('dialog').textContent()).toContain(MARKUP)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Enter')
    await page.locator('.record-value').first().waitFor()
    const html = await page.content()
    expect(`${await received()} ${html}`).not.toContain(SECRET)
    expect(messages).toEqual([])
    // The owner receives it, once revealed: the search finds what is there.
    const owner = await opened.signedIn('owner', `/tables/odd/${opened.ids[0]}`)
    await owner.page.getByRole('button', { name: 'Reveal hidden' }).click()
    await owner.page.getByPlaceholder('Case 4711').fill('Trial of the search')
    await owner.page.keyboard.press('Enter')
    await owner.page.getByText(SECRET).waitFor()
    expect(await owner.received()).toContain(SECRET)
  })
})
