/** The page of the policy in a real Chromium: it equals what each role reads itself, only reads, and a draft says who gains what. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { accessibilityFaults } from '../support/console/accessibility.ts'
import type { ConsoleVault } from '../support/console/console-vault.ts'
import { CHROMIUM, type OpenedConsole, openConsole, type Tab } from '../support/console/open-console.ts'
import { asLoose } from '../support/vaults/open-untyped.ts'
import { OWNER } from '../support/vaults/test-vault.ts'

describe.skipIf(CHROMIUM === undefined)('the page of the policy', () => {
  let opened: OpenedConsole & ConsoleVault
  beforeAll(async () => {
    opened = await openConsole()
  })
  afterEach(() => opened?.release())
  afterAll(() => opened?.close())

  it('shows every cell as the role reads it, only reads, and is recorded with both names', async () => {
    const tab = await opened.signedIn('owner')
    const { page } = tab
    await page.keyboard.press('g')
    await page.keyboard.press('p')
    await page.locator('.compare').waitFor()
    for (const [role, context] of [
      ['support', {}],
      ['privacy_desk', {}],
      ['analyst', { country: 'SE' }],
      ['VAULT_VIEWER', {}],
    ] as const) {
      await page.getByLabel('Seen as').last().selectOption(role)
      await page.getByLabel('ctx.country').fill('country' in context ? context.country : '')
      await page.keyboard.press('Enter')
      await page.locator('.compare .other th', { hasText: role }).first().waitFor()
      await expect.poll(() => linesOf(tab)).toEqual(await expectedLines(opened, role, context))
    }
    for (const name of [/^reveal/i, /^insert/i, /^edit/i, /^delete/i, /^copy/i, /^run/i])
      expect(await page.getByRole('button', { name }).count()).toBe(0)
    expect(await accessibilityFaults(page)).toEqual([])
    expect(tab.messages).toEqual([])
    const { events } = await opened.vault
      .as(OWNER)
      .listEvents({ filterOps: { accountID: 'acme', actionType: 'GET' }, limit: 100 })
    const seenAs = events.flatMap(({ context, request }) =>
      request.seenAs === undefined ? [] : { actor: context.actor, ...request.seenAs },
    )
    expect(seenAs.map(({ roles }) => roles[0])).toEqual(
      expect.arrayContaining(['support', 'privacy_desk', 'analyst', 'VAULT_VIEWER']),
    )
    expect(new Set(seenAs.map(({ actor }) => actor)).size).toBe(1)
  })

  it('checks a draft: an error has its place, and then it shows who gains what, on a third line', async () => {
    const { page } = await opened.signedIn('owner', '/policy')
    await page.getByLabel('Seen as').last().selectOption('support')
    await page.getByRole('button', { name: 'New draft' }).click()
    const text = page.getByLabel('Statements of support')
    await text.fill('ALLOW READ ON customers.name\nALLOW READ\n  ON customers.fone')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('button', { name: 'support, line 3' }).waitFor()
    expect(await page.getByRole('alert').textContent()).toContain('Column "fone" of table "customers" does not exist.')
    expect(await text.evaluate((area: HTMLTextAreaElement) => area.selectionStart)).toBe(
      'ALLOW READ ON customers.name\nALLOW READ\n  ON '.length,
    )
    await text.fill('ALLOW READ ON customers.name, customers.phone WITH REDACTION = PLAIN_TEXT')
    await page.getByRole('button', { name: 'Check draft' }).click()
    await expect
      .poll(() => page.locator('.changes li').allTextContents())
      .toContain('gainssupport gains plain name, phone of customers in 6 records')
    await page.getByLabel('the most they can ask for').check()
    const phone = page.locator('.compare tbody').first().locator('td[data-column="phone"]')
    await expect.poll(() => phone.allTextContents()).toEqual(['+49 711 2842222', '••••••••2222, masked', '+49 711 2842222'])
    expect(await accessibilityFaults(page)).toEqual([])
  })

  it('shows a caller without ALL their own access only', async () => {
    const tab = await opened.signedIn('support', '/policy')
    await tab.page.getByRole('heading', { name: 'What you may do with customers' }).waitFor()
    expect(await tab.page.locator('.seen-bar, .compare').count()).toBe(0)
    expect(await accessibilityFaults(tab.page)).toEqual([])
    const received = await tab.received()
    for (const hidden of ['ssn', 'privacy_desk', 'analyst', 'address'])
      expect(received.split('\n{"content').join()).not.toContain(`"${hidden}"`)
  })
})

/** Returns the lines of the role: a text for each column of each record. */
async function linesOf({ page }: Tab): Promise<readonly Readonly<Record<string, string>>[]> {
  return page
    .locator('.compare tr.other')
    .evaluateAll((rows) =>
      rows.map((row) =>
        Object.fromEntries([...row.querySelectorAll('td')].map((cell) => [cell.dataset.column ?? '', cell.textContent ?? ''])),
      ),
    )
}

/** Returns what the role reads itself, as the page writes it. */
async function expectedLines({ vault, customers }: ConsoleVault, role: string, context: object) {
  const session = asLoose(vault.as({ ...OWNER, roles: [role], context } as typeof OWNER))
  const { records } = await session.get('customers')
  const columns = Object.keys(vault.schema.customers ?? {})
  return customers.map((id) => {
    const record = records.find((one) => one.id === id)
    return Object.fromEntries(columns.map((name) => [name, textOf(record?.fields[name], record?.levels[name])]))
  })
}

function textOf(value: unknown, level: unknown): string {
  if (value === undefined) return 'not shown in this record'
  if (level === 'REDACTED') return 'redacted'
  if (value === null) return 'null'
  return level === 'MASKED'
    ? `${String(value).replace(/\*+/g, (stars) => '•'.repeat(Math.min(8, stars.length)))}, masked`
    : String(value)
}
