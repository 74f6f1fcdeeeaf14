/** The pages of queries and of tokens in a real Chromium: completion, errors at their place, levels, plan, history; tokens found in prose. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { accessibilityFaults } from '../support/console/accessibility.ts'
import { type ConsoleVault, CUSTOMERS } from '../support/console/console-vault.ts'
import { CHROMIUM, type OpenedConsole, openConsole } from '../support/console/open-console.ts'
import { OWNER } from '../support/vaults/test-vault.ts'

const [LEONIE] = CUSTOMERS

describe.skipIf(CHROMIUM === undefined)('the pages of queries and tokens', () => {
  let opened: OpenedConsole & ConsoleVault
  beforeAll(async () => {
    opened = await openConsole()
  })
  afterEach(() => opened?.release())
  afterAll(() => opened?.close())

  const editor = (page: Page) => page.getByLabel('Query', { exact: true })
  async function write(page: Page, text: string): Promise<void> {
    await editor(page).focus()
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.press('Delete')
    // As pasted: what is typed is completed.
    await page.keyboard.insertText(text)
  }

  it('runs a query by keys, each cell at the level of the caller, with the plan and the history beside it', async () => {
    const { page, messages, requests } = await opened.signedIn('desk', '/query')
    await page.getByRole('heading', { level: 1, name: 'Queries' }).waitFor()
    // The editor has the focus.
    await page.keyboard.insertText("SELECT name, country, phone FROM customers WHERE country = 'DE'")
    await page.keyboard.press('ControlOrMeta+Enter')
    await page.getByRole('status').filter({ hasText: '1 record' }).first().waitFor()
    const cells = await page.locator('.query-result td').allTextContents()
    expect(cells).toEqual(['L••••••••, masked', 'DE', '••••••••2222, masked'])
    expect(await page.getByLabel('Plan and history').textContent()).toContain('Storage finds rows by country = ?')
    expect(await page.locator('.past li').allTextContents()).toEqual([
      "SELECT name, country, phone FROM customers WHERE country = 'DE'",
    ])
    expect(await accessibilityFaults(page)).toEqual([])
    await write(page, "SELECT country FROM customers WHERE country = 'none'")
    await page.keyboard.press('ControlOrMeta+Enter')
    await page.getByText('No record matches').waitFor()
    // The text is there after another page was shown, and is gone after the session.
    await page.getByRole('link', { name: 'Tokens' }).click()
    await page.getByRole('heading', { level: 1, name: 'Tokens' }).waitFor()
    await page.getByRole('link', { name: 'Queries' }).click()
    expect(await editor(page).textContent()).toContain("'none'")
    expect(await page.locator('.past li').count()).toBe(2)
    expect(messages.filter((one) => !one.includes('style-src-attr'))).toEqual([])
    expect(requests.filter((url) => url.includes('country') || !url.startsWith(opened.url.replace('/console', '')))).toEqual([])
  })

  it('underlines what is wrong, puts the cursor there, and says it', async () => {
    const { page } = await opened.signedIn('support', '/query', { colorScheme: 'dark' })
    await page.getByRole('heading', { level: 1, name: 'Queries' }).waitFor()
    await write(page, 'SELECT name,\n  risk FROM customers')
    await page.keyboard.press('ControlOrMeta+Enter')
    await page.getByRole('alert').filter({ hasText: 'Column "risk" is invalid' }).waitFor()
    expect(await page.locator('.cm-lintRange-error').textContent()).toBe('risk')
    await page.keyboard.insertText('country, ')
    expect(await editor(page).textContent()).toContain('country, risk')
    expect(await page.locator('.past li').textContent()).toContain('refused')
    expect(await accessibilityFaults(page)).toEqual([])
    // What the policy refuses ends no session.
    await write(page, "SELECT name FROM customers WHERE country = 'SE'")
    await page.keyboard.press('ControlOrMeta+Enter')
    await page.getByRole('alert').filter({ hasText: 'Query failed. Line 1, column 34' }).waitFor()
    expect(await page.locator('.cm-lintRange-error').textContent()).toBe('country')
  })

  it('completes the tables and columns that the caller knows, and no others', async () => {
    const { page } = await opened.signedIn('support', '/query')
    await page.getByRole('heading', { level: 1, name: 'Queries' }).waitFor()
    await write(page, 'SELECT customers.')
    await page.keyboard.press('Control+Space')
    const options = page.locator('.cm-tooltip-autocomplete li')
    await options.first().waitFor()
    expect((await options.allTextContents()).sort()).toEqual(['country', 'email', 'name', 'phone', 'svc_id'])
  })

  it('finds tokens in prose, sends only them, and shows them at the level of the caller', async () => {
    const [id = ''] = opened.customers
    const { tokens } = (await opened.vault.as(OWNER).getOne('customers', id, { tokenization: true })) as unknown as {
      tokens: Readonly<Record<string, string>>
    }
    const { page, messages } = await opened.signedIn('desk', '/tokens')
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.postData() ?? ''))
    const unknown = '00000000-0000-4000-8000-000000000000'
    await page
      .getByLabel('Any text')
      .fill(`secret of the line: paid by "${tokens.name}" <${tokens.email}>, not ${unknown}; x${tokens.phone}`)
    await page.getByText('3 texts look like tokens.').waitFor()
    expect(sent).toEqual([])
    await page.keyboard.press('ControlOrMeta+Enter')
    await page.getByText('1 text is no token').waitFor()
    const rows = await page.locator('.tokens tbody tr').allTextContents()
    expect(rows.map((row) => row.replace(/[0-9a-f]{8}-\S*?(?=customers)/, ''))).toEqual([
      `customers.nameL••••••••, masked${id.slice(0, 8)}`,
      `customers.emaill•••@surfeu.example, masked${id.slice(0, 8)}`,
    ])
    expect(sent.join()).not.toContain('secret')
    expect(sent.join()).toContain(tokens.email)
    expect(await page.content()).not.toContain(LEONIE.email)
    expect(await accessibilityFaults(page)).toEqual([])
    await page
      .getByRole('link', { name: id.slice(0, 8) })
      .first()
      .click()
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(new URL(page.url()).pathname).toBe(`/console/tables/customers/${id}`)
    expect(messages).toEqual([])
  })

  it('of tokens says what the vault says to a caller who may resolve none', async () => {
    const { page } = await opened.signedIn('support', '/tokens')
    await page.getByLabel('Any text').fill('00000000-0000-4000-8000-000000000000')
    expect(await page.getByRole('button', { name: 'Look up', exact: true }).isDisabled()).toBe(true)
  })
})
