-- Starts `npu lsp` for buffers with assembly programs. Neovim 0.10 or later.
local M = {}

-- Options: `command` (a list), `target`, `hints` (whether to show words and cycles), `on_attach`.
function M.setup(options)
  if vim.fn.has("nvim-0.10") == 0 then
    local version = vim.fn.matchstr(vim.fn.execute("version"), [[NVIM v\zs[0-9.]*]])
    vim.api.nvim_err_writeln("npukit needs Neovim 0.10 or later, found " .. version)
    return
  end
  options = vim.tbl_extend("force", { command = { "npu", "lsp" }, hints = true }, options or {})
  local command = vim.list_extend({}, options.command)
  if options.target then
    vim.list_extend(command, { "--target", options.target })
  end
  vim.api.nvim_create_autocmd("FileType", {
    pattern = "npu",
    group = vim.api.nvim_create_augroup("npukit", { clear = true }),
    callback = function(event)
      local found = vim.fs.find({ "npu.toml", ".git" }, { upward = true, path = vim.fs.dirname(event.file) })[1]
      vim.lsp.start({
        name = "npukit",
        cmd = command,
        root_dir = found and vim.fs.dirname(found) or vim.fs.dirname(event.file),
        on_attach = function(client, buffer)
          vim.bo[buffer].commentstring = "# %s"
          if options.hints then
            vim.lsp.inlay_hint.enable(true, { bufnr = buffer })
          end
          if options.on_attach then
            options.on_attach(client, buffer)
          end
        end,
      }, { bufnr = event.buf })
    end,
  })
end

return M
