-- Detects assembly programs by their name, or by a comment in the first line that begins with `npu`.
if not vim.filetype then
  return -- Neovim 0.6 or older; `setup` says that it is too old
end
vim.filetype.add({
  extension = { pasm = "npu" },
  pattern = {
    [".*%.npu%.s"] = "npu",
    [".*%.s"] = {
      function(_, buffer)
        local first = vim.api.nvim_buf_get_lines(buffer, 0, 1, false)[1] or ""
        if first:match("^%s*[;#/]+%s*npu[ :]") then
          return "npu"
        end
      end,
      { priority = 10 },
    },
  },
})
